#include "systole/profile/prediction/resnet50.h"

#include "systole/profile/prediction/layer_costs.h"

namespace systole::profile {
namespace {

struct Block {
  int64_t count;
  int64_t features;  // of the inner convolutions
  int64_t stride;    // of the first block
};
constexpr Block kBlocks[] = {{3, 64, 1}, {4, 128, 2}, {6, 256, 2}, {3, 512, 2}};
constexpr int64_t kWidening = 4;

}  // namespace

StepCost resnet50_cost(int64_t images) {
  ConvNetCost cost(images);
  cost.add({.size = 112, .kernel = 7, .in = 3, .out = 64, .stride = 2});
  int64_t in = 64;
  int64_t size = 56;
  for (const Block& block : kBlocks) {
    const int64_t inner = block.features;
    const int64_t out = inner * kWidening;
    for (int64_t i = 0; i < block.count; ++i) {
      const int64_t stride = i == 0 ? block.stride : 1;
      cost.add({.size = size, .kernel = 1, .in = in, .out = inner});
      size /= stride;
      cost.add({.size = size, .kernel = 3, .in = inner, .out = inner, .stride = stride});
      cost.add({.size = size, .kernel = 1, .in = inner, .out = out});
      if (i == 0) cost.add({.size = size, .kernel = 1, .in = in, .out = out, .stride = stride});
      in = out;
    }
  }
  return cost.take();
}

}  // namespace systole::profile
