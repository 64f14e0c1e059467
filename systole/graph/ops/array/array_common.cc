#include "systole/graph/ops/array/array_common.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/axes.h"
#include "systole/graph/core/constant_value.h"

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
    throw invalid_argument("{}, got {}, expected integers known while building", what,
                           c.input(input));
  }
  return to_ints(*value);
}

std::vector<int64_t> known_ints(Output value) { return to_ints(constant_value(value).value()); }

Output ints_constant(const std::vector<int64_t>& values, std::string_view name) {
  const Tensor wide = Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values);
  const bool fits = std::ranges::all_of(values, [](int64_t v) {
    return v >= std::numeric_limits<int32_t>::min() && v <= std::numeric_limits<int32_t>::max();
  });
  return constant(fits ? wide.cast(DType::s32) : wide, {.name = std::string(name)});
}

Output int_constant(int64_t value, std::string_view name) {
  if (!std::in_range<int32_t>(value)) {
    throw invalid_argument("number, got {}, expected one of s32", value);
  }
  return constant(Tensor(static_cast<int32_t>(value)), {.name = std::string(name)});
}

DType size_type(const InferContext& c) {
  const DType out_type = c.attr<DType>("out_type");
  if (out_type != DType::s32 && out_type != DType::s64) {
    throw invalid_argument("out_type, got {}, expected s32 or s64", out_type);
  }
  return out_type;
}

Output size_at(Output x, int axis) {
  return strided_slice(shape(x), {axis}, {axis + 1}, {.shrink_axis_mask = 1});
}

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

Shape squeezed(const Shape& x, const std::vector<int64_t>& axes) {
  const auto is_given = [&](int64_t axis) { return std::ranges::find(axes, axis) != axes.end(); };
  Dims kept;
  for (int i = 0; i < x.rank(); ++i) {
    if (!is_given(i) && !is_given(i - x.rank())) {
      kept.push_back(x[i]);
    } else if (x[i] != 1 && x[i] != kUnknown) {
      throw invalid_argument("axis {} of {}, got size {}, expected 1", i, x, x[i]);
    }
  }
  return Shape(std::move(kept));
}

Shape ensured(Shape x, const Shape& declared) {
  if (!x.compatible_with(declared)) {
    throw invalid_argument("shape, got {}, expected {} as declared by set_shape", x, declared);
  }
  for (int d = 0; d < declared.rank(); ++d) {
    if (declared[d] != kUnknown) x.set_dim(d, declared[d]);
  }
  return x;
}

hlo::Value wide_integers(hlo::Builder& b, hlo::Value x) {
  return dtype_info(x.dtype()).bits < 32 ? b.convert(x, DType::s32) : x;
}

std::vector<hlo::Value> cut(hlo::Builder& b, hlo::Value x, int axis,
                            std::span<const int64_t> sizes) {
  std::vector<hlo::Value> parts;
  Dims start(static_cast<size_t>(x.shape().rank()), 0);
  Dims limit = x.shape().dims();
  int64_t& begin = start[axis];
  int64_t& end = limit[axis];
  for (const int64_t size : sizes) {
    end = begin + size;
    parts.push_back(b.slice(x, start, limit));
    begin = end;
  }
  return parts;
}

int checked_axis(int64_t axis, int rank) { return static_cast<int>(normalize_axis(axis, rank)); }

}  // namespace systole
