// What a recording costs: steps while one is in progress, and as their limit the same steps
// without.
#include "bench/cnn_step.h"
#include "bench/figures.h"
#include "bench/iris.h"
#include "systole/tracing/recorder.h"

namespace bench {
namespace {

namespace tracing = systole::tracing;

constexpr int64_t kIrisSteps = 1000;  // of a launch

void run(benchmark::State& state, st::StepLoop& loop, const std::vector<st::Tensor>& inputs,
         bool recorded) {
  loop.run(inputs, loop.options().max_steps);
  if (recorded) tracing::start();
  for (auto _ : state) loop.run(inputs, loop.options().max_steps);
  if (recorded) tracing::stop();
}

void iris(benchmark::State& state, bool recorded) {
  IrisStep step;
  st::StepLoop loop(*step.session, {.inputs = {step.x, step.y},
                                    .input_types = {step.example_x.type(), step.example_y.type()},
                                    .targets = {step.updates},
                                    .max_steps = kIrisSteps});
  run(state, loop,
      {st::Tensor::full(st::DType::f32, {1, kIrisSteps, 1, 5}, 0.5),
       st::Tensor::full(st::DType::f32, {1, kIrisSteps, 1, 3}, 0.25)},
      recorded);
}

void mnist(benchmark::State& state, bool recorded) {
  CnnStep step(st::DType::f32);
  constexpr int64_t kBatch = CnnStep::kBatch;
  st::StepLoop loop(*step.session, {.inputs = {step.images, step.labels},
                                    .input_types = {step.batch[0].type(), step.batch[1].type()},
                                    .targets = {step.updates}});
  run(state, loop,
      {step.batch[0].reshape({1, 1, kBatch, 784}), step.batch[1].reshape({1, 1, kBatch})},
      recorded);
}

}  // namespace

void add_profile_figures() {
  const auto body = [](void (*steps)(benchmark::State&, bool), bool recorded) {
    return [=](benchmark::State& state) { steps(state, recorded); };
  };
  add({.name = "profile.overhead.iris",
       .unit = "us",
       .per = static_cast<double>(kIrisSteps),
       .ours = body(iris, true),
       .limit = body(iris, false)});
  add({.name = "profile.overhead.mnist",
       .unit = "ms",
       .ours = body(mnist, true),
       .limit = body(mnist, false)});
}

}  // namespace bench
