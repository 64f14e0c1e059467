#include "systole/train/example_mask.h"

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/node_builder.h"

namespace systole {
namespace {

constexpr std::string_view kCollection = "_example_mask";

// Returns the mask of each row of `values`; nothing if its rows are not examples.
std::optional<Output> mask_of_rows(const Output& values) {
  const std::optional<Output> mask = example_mask();
  if (!mask || values.shape().rank() == 0) return std::nullopt;
  const int64_t rows = values.shape()[0];
  const int64_t examples = mask->shape()[0];
  if (rows == examples) return mask;
  if (rows == kUnknown || examples <= 0 || rows % examples != 0) return std::nullopt;
  const int64_t each = rows / examples;
  return reshape(broadcast_to(expand_dims(*mask, 1), {examples, each}), {rows});
}

}  // namespace

void set_example_mask(const Output& mask) {
  if (mask.dtype() != DType::f32 || mask.shape().rank() != 1) {
    throw invalid_argument("set_example_mask: mask, got {}, expected f32[batch]", mask.type());
  }
  Graph::current().root().add_to_collection(kCollection, mask);
}

std::optional<Output> example_mask() {
  const auto masks = Graph::current().root().collection<Output>(kCollection);
  if (masks.empty()) return std::nullopt;
  return masks.back();
}

Output masked_weights(const Output& values, const Input& weights) {
  const Output given = cast(resolve("weights", weights, DType::f32), DType::f32);
  std::optional<Output> mask = mask_of_rows(values);
  if (!mask) return given;
  std::vector<int64_t> along(static_cast<size_t>(values.shape().rank()), 1);
  along[0] = values.shape()[0];
  return given * reshape(*mask, along);
}

}  // namespace systole
