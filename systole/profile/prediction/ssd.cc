#include "systole/profile/prediction/ssd.h"

#include "systole/profile/prediction/layer_costs.h"

namespace systole::profile {
namespace {

constexpr int64_t kImage = 300;
constexpr int64_t kBoxes = 8732;
constexpr int64_t kClasses = 81;
constexpr int64_t kCoordinates = 4;
// Over the class scores of all boxes: they are gathered from their levels (1 write), the softmax
// reads them for its maximum and its sum (2), and its gradient reads, writes and returns them (4).
constexpr double kPassesOfLoss = 7;

// A group of blocks of two convolutions; the first block changes size and features.
void add_blocks(ConvNetCost& cost, int64_t count, int64_t size, int64_t in, int64_t out,
                int64_t in_size) {
  const int64_t stride = in_size > size ? 2 : 1;
  for (int64_t i = 0; i < count; ++i) {
    const bool first = i == 0;
    const ConvolutionSizes inner{.size = size, .kernel = 3, .in = out, .out = out};
    ConvolutionSizes entry = inner;
    if (first) {
      entry.in = in;
      entry.stride = stride;
      entry.in_size = in_size;
    }
    cost.add(entry);
    cost.add(inner);
    if (first && in != out) {
      ConvolutionSizes shortcut = entry;
      shortcut.kernel = 1;
      cost.add(shortcut);
    }
  }
}

void add_backbone(ConvNetCost& cost) {
  cost.add({.size = 150, .kernel = 7, .in = 3, .out = 64, .stride = 2});
  const double x = cost.activations(150, 64);
  const double y = cost.activations(75, 64);
  cost.add_pass("pooling", x + y);
  cost.add_pass("gradient of pooling", 2 * x + y);
  add_blocks(cost, 3, 75, 64, 64, 75);
  add_blocks(cost, 4, 38, 64, 128, 75);
  add_blocks(cost, 6, 38, 128, 256, 38);
}

// A level of boxes: a convolution of 1 x 1 and one of 3 x 3 make its features from the level
// before.
struct Level {
  int64_t size;
  int64_t inner;
  int64_t features;
  int64_t boxes;  // at each position
};
constexpr int64_t kBoxesOfFirstLevel = 4;
constexpr Level kLevels[] = {
    {19, 256, 512, 6}, {10, 256, 512, 6}, {5, 128, 256, 6}, {3, 128, 256, 4}, {1, 128, 256, 4}};

void add_scores(ConvNetCost& cost, int64_t size, int64_t features, int64_t boxes) {
  for (const int64_t numbers : {kClasses, kCoordinates}) {
    cost.add({.size = size,
              .kernel = 3,
              .in = features,
              .out = boxes * numbers,
              .is_normalized = false});
  }
}

}  // namespace

StepCost ssd_cost(int64_t images) {
  ConvNetCost cost(images);
  add_backbone(cost);
  int64_t size = 38;
  int64_t features = 256;
  add_scores(cost, size, features, kBoxesOfFirstLevel);
  for (const Level& level : kLevels) {
    cost.add(
        {.size = size, .kernel = 1, .in = features, .out = level.inner, .is_normalized = false});
    cost.add({.size = level.size,
              .kernel = 3,
              .in = level.inner,
              .out = level.features,
              .in_size = size,
              .is_normalized = false});
    size = level.size;
    features = level.features;
    add_scores(cost, size, features, level.boxes);
  }
  cost.add_pass("losses and their gradients",
                kPassesOfLoss * padded_matrix(images * kBoxes, kClasses, DType::f32));
  StepCost step = cost.take();
  const int64_t image = kImage * kImage * 3 * size_of(DType::bf16);
  const int64_t labels = kBoxes * (kCoordinates + 1) * size_of(DType::f32);
  step.infeed_bytes = static_cast<double>(images * (image + labels));
  return step;
}

}  // namespace systole::profile
