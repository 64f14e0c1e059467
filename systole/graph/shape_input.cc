#include "systole/graph/shape_input.h"

#include <algorithm>
#include <limits>

namespace systole {
namespace {

Tensor as_vector(const Shape& shape) {
  const Tensor wide = Tensor::of<int64_t>({shape.rank()}, std::span<const int64_t>(shape.dims()));
  const bool fits = std::ranges::all_of(
      shape.dims(), [](int64_t size) { return size <= std::numeric_limits<int32_t>::max(); });
  return fits ? wide.cast(DType::s32) : wide;
}

}  // namespace

ShapeInput::ShapeInput(const Shape& shape, Where where) : input_(as_vector(shape), where) {}

}  // namespace systole
