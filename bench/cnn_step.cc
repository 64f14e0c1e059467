#include "bench/cnn_step.h"

#include "bench/figures.h"
#include "systole/base/random.h"

namespace bench {
namespace {

// The layers of one model, with f32 variables and arithmetic in `dtype`.
struct Layers {
  st::DType dtype;

  st::Output conv(const st::Output& x, int64_t from, int64_t to) const {
    const st::Variable kernel(st::random_normal({5, 5, from, to}, {.stddev = 0.1}));
    const st::Output y = st::conv2d(x, narrow(kernel), {.padding = st::Padding::same});
    return st::relu(st::bias_add(y, bias(to)));
  }
  st::Output dense(const st::Output& x, int64_t from, int64_t to) const {
    const st::Variable kernel(st::random_normal({from, to}, {.stddev = 0.05}));
    return st::bias_add(st::matmul(x, narrow(kernel)), bias(to));
  }
  st::Output narrow(const st::Input& x) const { return st::cast(x, dtype); }

 private:
  st::Output bias(int64_t size) const {
    return narrow(st::Variable(st::zeros({size}, st::DType::f32)));
  }
};

std::vector<st::Tensor> random_batch() {
  st::RandomStream random(42);
  st::Tensor images(st::DType::f32, {CnnStep::kBatch, 784});
  for (float& x : images.data<float>()) x = static_cast<float>(random.next_uniform());
  st::Tensor labels(st::DType::s32, {CnnStep::kBatch});
  for (int32_t& x : labels.data<int32_t>()) x = static_cast<int32_t>(random.next_below(10));
  return {images, labels};
}

void steps(benchmark::State& state, st::DType dtype) {
  CnnStep step(dtype);
  auto train = step.session->make_callable({step.updates}, {step.images, step.labels});
  train(step.batch);  // compiles
  for (auto _ : state) train(step.batch);
}

}  // namespace

CnnStep::CnnStep(st::DType dtype, const std::string& target, int num_threads) {
  st::set_random_seed(42);
  const Layers layers{dtype};
  images = st::placeholder(st::DType::f32, {-1, 784});
  labels = st::placeholder(st::DType::s32, {-1});
  st::Output x = layers.narrow(st::reshape(images, {-1, 28, 28, 1}));
  x = st::max_pool(layers.conv(x, 1, 32));
  x = st::max_pool(layers.conv(x, 32, 64));
  x = st::relu(layers.dense(st::reshape(x, {-1, 7 * 7 * 64}), 7 * 7 * 64, 128));
  const st::Output logits = layers.dense(st::dropout(x, 0.6), 128, 10);
  loss = st::reduce_mean(st::sparse_softmax_cross_entropy_with_logits(
      {.labels = labels, .logits = st::cast(logits, st::DType::f32)}));
  updates = st::CrossShardOptimizer(st::GradientDescentOptimizer(0.01)).minimize(loss);
  session = std::make_unique<st::Session>(
      target, st::SessionConfig{.graph = &graph, .num_threads = num_threads});
  session->run(st::global_variables_initializer());
  batch = random_batch();
}

double seconds_to_compile_cnn() {
  CnnStep step(st::DType::f32);
  const double before = step.session->stats().compile_seconds;
  step.session->run(step.updates, {{step.images, step.batch[0]}, {step.labels, step.batch[1]}});
  return step.session->stats().compile_seconds - before;
}

void add_cnn_figures() {
  for (const st::DType dtype : {st::DType::f32, st::DType::bf16}) {
    add({.name = dtype == st::DType::f32 ? "cnn_step.f32" : "cnn_step.bf16",
         .unit = "ms",
         .ours = [=](benchmark::State& state) { steps(state, dtype); }});
  }
}

}  // namespace bench
