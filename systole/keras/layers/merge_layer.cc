#include "systole/keras/layers/merge_layer.h"

#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"

namespace systole::keras::layers {
namespace {

// All sizes but the batch's, from the last axis: equal, 1, or unknown.
bool broadcast_together(const Shape& a, const Shape& b) {
  for (int i = 1; i < std::min(a.rank(), b.rank()); ++i) {
    const int64_t x = a[a.rank() - i];
    const int64_t y = b[b.rank() - i];
    if (x != y && x != 1 && y != 1 && x >= 0 && y >= 0) return false;
  }
  return true;
}

}  // namespace

std::vector<Output> aligned_inputs(const std::string& layer, const std::vector<Output>& inputs) {
  if (inputs.size() < 2) {
    throw invalid_argument(
        "A merge layer should be called on a list of inputs. Layer {} got {}, expected at least 2",
        layer, inputs.size());
  }
  int rank = 0;
  for (const Output& input : inputs) rank = std::max(rank, input.shape().rank());
  for (const Output& input : inputs) {
    const Shape& first = inputs[0].shape();
    const Shape& shape = input.shape();
    if (first.rank() == 0 || shape.rank() == 0 ||
        (first[0] >= 0 && shape[0] >= 0 && first[0] != shape[0])) {
      throw invalid_argument(
          "Can not merge tensors with different batch sizes. Layer {} got tensors with shapes : {} "
          "and {}",
          layer, sizes_text(first), sizes_text(shape));
    }
    for (const Output& other : inputs) {
      if (broadcast_together(shape, other.shape())) continue;
      throw invalid_argument(
          "Operands could not be broadcast together with shapes {} {}, in layer {}",
          sizes_text(shape), sizes_text(other.shape()), layer);
    }
  }
  std::vector<Output> aligned;
  for (Output input : inputs) {
    while (input.shape().rank() < rank) input = expand_dims(input, 1);
    aligned.push_back(input);
  }
  return aligned;
}

void set_common_mask(CallContext& context, const std::vector<Output>& inputs,
                     const Output& result) {
  Output all;
  for (const Output& input : inputs) {
    const Output mask = context.mask(input);
    if (!mask.valid()) continue;
    all = all.valid() ? logical_and(all, mask) : mask;
  }
  if (all.valid()) context.set_mask(result, all);
}

}  // namespace systole::keras::layers
