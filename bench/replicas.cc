// Replicas of a virtual TPU: a training step on 8 cores against the same step on the whole batch,
// and sums over 8 cores against a hand-written loop over the same arrays.
#include "bench/cnn_step.h"
#include "bench/figures.h"
#include "systole/base/thread_pool.h"
#include "systole/systole.h"

namespace bench {
namespace {

constexpr int kCores = 8;
constexpr int64_t kBatch = 1024;

void train(benchmark::State& state, int cores) {
  CnnStep step(st::DType::f32);
  const int64_t batch = kBatch / cores;
  st::StepLoop loop(*step.session,
                    {.inputs = {step.images, step.labels},
                     .input_types = {{st::DType::f32, {batch, 784}}, {st::DType::s32, {batch}}},
                     .targets = {step.updates},
                     .num_replicas = cores});
  const st::Tensor images = st::Tensor::full(st::DType::f32, {cores, 1, batch, 784}, 0.5);
  const st::Tensor labels = st::Tensor::full(st::DType::s32, {cores, 1, batch}, 3);
  loop.run({{images, labels}}, 1);
  for (auto _ : state) loop.run({{images, labels}}, 1);
}

void all_reduce(benchmark::State& state, int64_t count) {
  st::Graph graph;
  const st::GraphScope scope(graph);
  const st::Output x = st::placeholder(st::DType::f32, {count});
  const st::Variable sum(st::zeros({count}));
  const st::Operation update = sum.assign(st::tpu::cross_replica_sum(x));
  st::Session session("local", {.graph = &graph});
  session.run(st::global_variables_initializer());
  st::StepLoop loop(
      session,
      {.inputs = {x}, .input_types = {x.type()}, .targets = {update}, .num_replicas = kCores});
  const st::Tensor values = st::Tensor::full(st::DType::f32, {kCores, 1, count}, 0.5);
  loop.run({{values}}, 1);
  for (auto _ : state) loop.run({{values}}, 1);
}

void sum_by_hand(benchmark::State& state, int64_t count) {
  const st::Tensor values = st::Tensor::full(st::DType::f32, {kCores, count}, 0.5);
  st::Tensor sums = st::Tensor::zeros(st::DType::f32, {count});
  constexpr int64_t kPart = 1024;
  const float* from = values.data<float>().data();
  float* to = sums.data<float>().data();
  const auto add_parts = [&](int64_t begin, int64_t end) {
    for (int64_t part = begin * kPart; part < end * kPart; part += kPart) {
      std::copy_n(from + part, kPart, to + part);
      for (int64_t core = 1; core < kCores; ++core) {
        const float* own = from + core * count + part;
        for (int64_t i = 0; i < kPart; ++i) to[part + i] += own[i];
      }
    }
  };
  for (auto _ : state) {
    st::ThreadPool::global().parallel_for(count / kPart, 1, add_parts);
    benchmark::DoNotOptimize(to);
  }
}

}  // namespace

void add_replica_figures() {
  add({.name = "mnist.sharded_over_single",
       .unit = "ms",
       .ours = [](benchmark::State& state) { train(state, kCores); },
       .limit = [](benchmark::State& state) { train(state, 1); },
       .repetitions = 5});
  for (const int64_t megabytes : {1, 100}) {
    const int64_t count = megabytes << 18;
    const double read_and_written = 4e-9 * static_cast<double>(count) * (kCores + 1);
    add({.name = "allreduce.f32." + std::to_string(megabytes) + "MB",
         .unit = "GB/s",
         .work = read_and_written,
         .ours = [=](benchmark::State& state) { all_reduce(state, count); },
         .limit = [=](benchmark::State& state) { sum_by_hand(state, count); }});
  }
}

}  // namespace bench
