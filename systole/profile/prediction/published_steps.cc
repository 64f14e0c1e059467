#include "systole/profile/prediction/published_steps.h"

#include <fmt/core.h>

#include "systole/profile/prediction/gnmt.h"
#include "systole/profile/prediction/layer_costs.h"
#include "systole/profile/prediction/resnet50.h"
#include "systole/profile/prediction/ssd.h"

namespace systole::profile {
namespace {

constexpr const char* kMlPerf = "MLPerf 0.5, TensorFlow 1.12";
constexpr int64_t kCores = 8;
constexpr double kMillisecond = 1e-3;

// The measured times of a model on both generations.
struct Times {
  double v2;
  double v3;
};

void add_mlperf(std::vector<PublishedStep>& steps, const std::string& name, const Times& times,
                const StepCost& cost) {
  steps.push_back(
      {name, "v2-8", times.v2 * kMillisecond, cost, &StepPrediction::step_seconds, kMlPerf});
  steps.push_back(
      {name, "v3-8", times.v3 * kMillisecond, cost, &StepPrediction::step_seconds, kMlPerf});
}

// A published product over 4 x 2 cores.
StepCost product_cost() {
  const int64_t m = int64_t{32} * 1024 / 4;
  const int64_t n = 32768 / 2;
  return {.ops = {{.name = "product",
                   .product = hlo::ProductSize{.rows = m, .inner = 8192, .columns = n}}}};
}

// The first half of an all-reduce.
StepCost reduce_scatter_cost(double bytes) { return {.all_reduce_bytes = bytes / 2}; }

// tensorflow/tpu, tools/colab/mnist_tpuestimator.ipynb.
StepCost mnist_notebook_cost(int64_t images) {
  ConvNetCost cost(images);
  cost.add({.size = 28, .kernel = 3, .in = 1, .out = 6});
  cost.add({.size = 14, .kernel = 6, .in = 6, .out = 12, .stride = 2});
  cost.add({.size = 7, .kernel = 6, .in = 12, .out = 24, .stride = 2});
  cost.add({.size = 1, .kernel = 7, .in = 24, .out = 200, .in_size = 7});
  cost.add({.size = 1, .kernel = 1, .in = 200, .out = 10, .is_normalized = false});
  StepCost step = cost.take();
  step.infeed_bytes = static_cast<double>(images * (28 * 28 + 1) * size_of(DType::f32));
  return step;
}

}  // namespace

double PublishedStep::predicted_seconds() const { return predict(cost, tpu_system(system)).*part; }

std::vector<PublishedStep> published_steps() {
  std::vector<PublishedStep> steps;
  add_mlperf(steps, "ResNet-50, 1,024 images", {232, 140}, resnet50_cost(1024 / kCores));
  // From the difference of the first two trainings of each log, 3,750 and 1,250 steps: the time to
  // start is not part of it. The median of five logs.
  add_mlperf(steps, "SSD, ResNet-34, 1,024 images", {785, 457}, ssd_cost(1024 / kCores));
  // Epochs with the time to start.
  for (const int64_t words : {32, 48}) {
    add_mlperf(steps, fmt::format("GNMT, 2,048 pairs, loops of {} words", words), {665, 430},
               gnmt_cost(2048 / kCores, words));
  }
  steps.push_back({"[32,1024,8192] x [8192,32768]", "v2-8", 96 * kMillisecond, product_cost(),
                   &StepPrediction::compute_seconds, "How to Scale Your Model, 2025"});
  steps.push_back({"reduce-scatter of 128 MiB a core", "v2-8", 1.13 * kMillisecond,
                   reduce_scatter_cost(128 << 20), &StepPrediction::all_reduce_seconds,
                   "How to Scale Your Model, 2025"});
  steps.push_back({"MNIST notebook, 256 images", "v2-8", 1.02 * kMillisecond,
                   mnist_notebook_cost(256 / kCores), &StepPrediction::step_seconds,
                   "its output, 2019"});
  return steps;
}

}  // namespace systole::profile
