#include "bench/iris.h"

#include "bench/figures.h"

namespace bench {

IrisStep::IrisStep(const std::string& target) {
  st::set_random_seed(42);
  x = st::placeholder("float", {-1, 5});
  y = st::placeholder("float", {-1, 3});
  const st::Variable w_1(st::random_normal({5, 256}, {.stddev = 0.1}));
  const st::Variable w_2(st::random_normal({256, 3}, {.stddev = 0.1}));
  const st::Output yhat = st::matmul(st::sigmoid(st::matmul(x, w_1)), w_2);
  const st::Output cost =
      st::reduce_mean(st::softmax_cross_entropy_with_logits({.labels = y, .logits = yhat}));
  updates = st::GradientDescentOptimizer(0.01).minimize(cost);
  session = std::make_unique<st::Session>(target, st::SessionConfig{.graph = &graph});
  session->run(st::global_variables_initializer());
  example_x = st::Tensor::of<float>({1, 5}, {1, 5.1F, 3.5F, 1.4F, 0.2F});
  example_y = st::Tensor::of<float>({1, 3}, {1, 0, 0});
}

double seconds_to_compile_iris() {
  IrisStep step;
  const double before = step.session->stats().compile_seconds;
  step.session->run(step.updates, {{step.x, step.example_x}, {step.y, step.example_y}});
  return step.session->stats().compile_seconds - before;
}

void add_iris_figures() {
  add({.name = "iris.run", .unit = "us", .ours = [](benchmark::State& state) {
         IrisStep step;
         step.session->run(step.updates, {{step.x, step.example_x}, {step.y, step.example_y}});
         for (auto _ : state) {
           step.session->run(step.updates, {{step.x, step.example_x}, {step.y, step.example_y}});
         }
       }});
  add({.name = "iris.callable", .unit = "us", .ours = [](benchmark::State& state) {
         IrisStep step;
         auto train = step.session->make_callable({step.updates}, {step.x, step.y});
         const std::vector<st::Tensor> example = {step.example_x, step.example_y};
         train(example);  // compiles
         for (auto _ : state) train(example);
       }});
}

}  // namespace bench
