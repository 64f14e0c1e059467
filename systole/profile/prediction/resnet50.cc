#include "systole/profile/prediction/resnet50.h"

#include <fmt/core.h>

#include "systole/runtime/tpu_tiles.h"

namespace systole::profile {
namespace {

constexpr double kArraysOfMomentumUpdate = 5;  // momentum: reads three arrays, writes two

double activations(int64_t images, int64_t size, int64_t features) {
  return static_cast<double>(
      runtime::padded_bytes({DType::bf16, {images * size * size, features}}));
}

struct Block {
  int64_t count;
  int64_t features;  // of the inner convolutions
  int64_t stride;    // of the first block
};
constexpr Block kBlocks[] = {{3, 64, 1}, {4, 128, 2}, {6, 256, 2}, {3, 512, 2}};
constexpr int64_t kWidening = 4;

class Cost {
 public:
  explicit Cost(int64_t images) : images_(images) {}

  // A convolution, batch normalization and ReLU, with their gradients. `size`: of the result.
  void add(int64_t size, int64_t kernel, int64_t in, int64_t out, int64_t stride) {
    const std::string name =
        fmt::format("convolution {}x{} {} -> {} at {}x{}", kernel, kernel, in, out, size, size);
    const int64_t positions = images_ * size * size;
    const int64_t depth = kernel * kernel * in;
    const double x = activations(images_, size * stride, in);
    const double y = activations(images_, size, out);
    const auto weights = static_cast<double>(runtime::padded_bytes({DType::f32, {depth, out}}));
    const double flops = 2.0 * static_cast<double>(positions) * static_cast<double>(depth * out);
    const auto product = [&](const char* what, double cycles) {
      step_.ops.push_back({.name = name + what,
                           .matrix_cycles = cycles,
                           .flops = flops,
                           .memory_bytes = x + y + weights});
    };
    product("", product_cycles(positions, depth, out));
    product(", gradient of weights", product_cycles(depth, positions, out));
    if (in > 3)
      product(", gradient of input", product_cycles(positions, out * kernel * kernel, in));
    const auto pass = [&](const char* what, double bytes) {
      step_.ops.push_back({.name = name + what, .memory_bytes = bytes});
    };
    pass(", normalization and ReLU", 2 * y);
    pass(", sums of its gradient", 2 * y);
    pass(", its gradient", 3 * y);
    pass(", update of weights", kArraysOfMomentumUpdate * weights);
    step_.all_reduce_bytes += 4.0 * static_cast<double>(depth * out);
    step_.resident_bytes += y + 3 * weights;
  }

  StepCost take() { return std::move(step_); }

 private:
  int64_t images_;
  StepCost step_;
};

}  // namespace

StepCost resnet50_cost(int64_t images) {
  Cost cost(images);
  cost.add(112, 7, 3, 64, 2);
  int64_t in = 64;
  int64_t size = 56;
  for (const Block& block : kBlocks) {
    const int64_t out = block.features * kWidening;
    for (int64_t i = 0; i < block.count; ++i) {
      const int64_t stride = i == 0 ? block.stride : 1;
      cost.add(size, 1, in, block.features, 1);
      size /= stride;
      cost.add(size, 3, block.features, block.features, stride);
      cost.add(size, 1, block.features, out, 1);
      if (i == 0) cost.add(size, 1, in, out, stride);
      in = out;
    }
  }
  return cost.take();
}

}  // namespace systole::profile
