#include "systole/keras/layers/recurrent_dropout.h"

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/functions/array_functions.h"
#include "systole/graph/functions/math_functions.h"
#include "systole/graph/functions/nn_functions.h"
#include "systole/keras/base/counters.h"

namespace systole::keras::layers {

std::vector<Output> dropout_masks(const Output& batch, int64_t units, double rate, int count) {
  std::vector<Output> masks;
  for (int i = 0; i < count; ++i) {
    const Output all = ones(stack({batch, static_cast<int32_t>(units)}), DType::f32);
    masks.push_back(dropout(all, 1 - rate, {.seed = next_seed()}));
  }
  return masks;
}

Output project_with_masks(const Output& inputs, const Output& kernel,
                          const std::vector<Output>& masks) {
  if (masks.size() == 1) return tensordot(inputs * masks[0], kernel, {{2}, {0}});
  const std::vector<Output> kernels =
      split(kernel, static_cast<int64_t>(masks.size()), {.axis = 1});
  std::vector<Output> parts;
  for (size_t g = 0; g < masks.size(); ++g) {
    parts.push_back(tensordot(inputs * masks[g], kernels[g], {{2}, {0}}));
  }
  return concat(parts, 2);
}

Output recurrent_product(const Output& h, const Output& kernel, const std::vector<Output>& masks,
                         int gates) {
  if (masks.empty()) return matmul(h, kernel);
  if (masks.size() == 1) return matmul(h * masks[0], kernel);
  const std::vector<Output> kernels = split(kernel, gates, {.axis = 1});
  std::vector<Output> parts;
  for (size_t g = 0; g < masks.size(); ++g) parts.push_back(matmul(h * masks[g], kernels[g]));
  return concat(parts, 1);
}

}  // namespace systole::keras::layers
