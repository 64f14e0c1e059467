#include "systole/graph/api/shape_input.h"

#include <algorithm>
#include <limits>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/where_scope.h"

namespace systole {
namespace {

Tensor as_vector(const Shape& shape) {
  const Tensor wide = Tensor::of<int64_t>({shape.rank()}, std::span<const int64_t>(shape.dims()));
  const bool fits = std::ranges::all_of(
      shape.dims(), [](int64_t size) { return size <= std::numeric_limits<int32_t>::max(); });
  return fits ? wide.cast(DType::s32) : wide;
}

// Numbers take the dtype of the tensors among them.
Input packed(std::span<const SizeInput> sizes, SourceLocation where) {
  const Input& first = sizes.front().input();
  if (sizes.size() == 1 && first.is_output() && first.resolve().shape().rank() == 1) return first;
  DType dtype = DType::s32;
  for (const SizeInput& size : sizes) {
    if (size.input().is_output()) dtype = size.input().dtype();
  }
  const WhereScope scope(where);
  std::vector<Output> values;
  for (const SizeInput& size : sizes) values.push_back(size.input().resolve(dtype));
  return stack(values);
}

}  // namespace

ShapeInput::ShapeInput(const Shape& shape, Where where) : input_(as_vector(shape), where) {}
ShapeInput::ShapeInput(std::span<const SizeInput> sizes, Where where)
    : input_(packed(sizes, where)) {}

}  // namespace systole
