#include "systole/graph/array_common.h"

#include <algorithm>
#include <limits>

#include "systole/graph/array_ops.h"
#include "systole/graph/axes.h"
#include "systole/graph/constant_value.h"

namespace systole {
namespace {

std::vector<int64_t> to_ints(const Tensor& tensor) {
  const Tensor wide = tensor.cast(DType::s64);
  const auto data = wide.data<int64_t>();
  return {data.begin(), data.end()};
}

}  // namespace

std::vector<int64_t> known_ints(const InferContext& c, int input, std::string_view what) {
  const std::optional<Tensor> value = c.constant_input(input);
  if (!value || !is_integer(value->dtype())) {
    throw invalid_argument("{}, got {}, expected integers known while building", what, c.input(input));
  }
  return to_ints(*value);
}

std::vector<int64_t> known_ints(Output value) { return to_ints(constant_value(value).value()); }

Output ints_constant(const std::vector<int64_t>& values) {
  const Tensor wide = Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values);
  const bool fits = std::ranges::all_of(values, [](int64_t v) {
    return v >= std::numeric_limits<int32_t>::min() && v <= std::numeric_limits<int32_t>::max();
  });
  return constant(fits ? wide.cast(DType::s32) : wide);
}

Output int_constant(int64_t value) { return constant(Tensor(static_cast<int32_t>(value))); }

Shape without_axis(const Shape& shape, int axis) {
  Dims dims = shape.dims();
  dims.erase(dims.begin() + axis);
  return Shape(std::move(dims));
}

Shape with_axis(const Shape& shape, int axis, int64_t size) {
  Dims dims = shape.dims();
  dims.insert(dims.begin() + axis, size);
  return Shape(std::move(dims));
}

int checked_axis(int64_t axis, int rank) { return static_cast<int>(normalize_axis(axis, rank)); }

}  // namespace systole
