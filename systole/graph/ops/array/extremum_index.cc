#include "systole/graph/ops/array/extremum_index.h"

#include <utility>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/composition.h"

namespace systole {
namespace {

using enum hlo::ComparisonDirection;

struct Entry {
  hlo::Value value;
  hlo::Value index;
};

// The region (value, index, value, index) -> the better value and its index. Symmetric, so that the
// order of a reduction does not matter: NaN is best, and of equals the one with the lower index.
void fill_better(hlo::Computation& region, DType dtype, hlo::ComparisonDirection better) {
  const auto add_entry = [&](const TensorType& value) {
    const hlo::Value v = region.add_parameter(value);
    return Entry{v, region.add_parameter({DType::s32, {}})};
  };
  const TensorType scalar{dtype, {}};
  // Parameters in StableHLO's order: all of the left, then all of the right.
  const Entry a = add_entry(scalar);
  const Entry z = add_entry(scalar);
  hlo::Builder b(region);
  hlo::Value first = b.compare(a.value, z.value, better);
  hlo::Value tie = b.compare(a.value, z.value, eq);
  if (is_floating(dtype)) {
    const hlo::Value a_nan = b.compare(a.value, a.value, ne);
    const hlo::Value z_nan = b.compare(z.value, z.value, ne);
    first = b.binary(hlo::Opcode::or_, first, a_nan);
    tie = b.binary(hlo::Opcode::or_, tie, b.binary(hlo::Opcode::and_, a_nan, z_nan));
  }
  const hlo::Value lower = b.minimum(a.index, z.index);
  region.set_results(
      {b.select(first, a.value, z.value), b.select(tie, lower, b.select(first, a.index, z.index))});
}

int64_t extremum_axis(const Tensor& axis, const Shape& shape) {
  const int64_t result = normalize_axis(static_cast<int64_t>(axis.as_double(0)), shape.rank());
  if (shape[static_cast<int>(result)] != 0) return result;
  throw invalid_argument("axis {} of {}, got no elements, expected at least one", result, shape);
}

}  // namespace

Output extremum_index_op(std::string_view op, const Input& x, const ArgOptions& options) {
  const CompositionScope scope(x, options.name, op);
  const Output value = resolve(op, x);
  const Tensor axis(static_cast<int32_t>(options.axis));
  const Output dimension = constant(axis, {.name = "dimension"});
  return Graph::current()
      .add_node(op, {value, dimension},
                {{"T", value.dtype()}, {"Tidx", DType::s32}, {"output_type", options.output_type}},
                x.where(), scope.result().name)
      ->output();
}

std::vector<TensorType> infer_extremum_index(const InferContext& c) {
  const TensorType& x = c.input(0);
  check_dtype("dtype", x.dtype, DTypeClass::number);
  const DType index = c.attr<DType>("output_type");
  if (index != DType::s32 && index != DType::s64) {
    throw invalid_argument("output_type, got {}, expected s32 or s64", index);
  }
  const std::optional<Tensor> dimension = c.constant_input(1);
  if (!dimension || !is_integer(dimension->dtype()) || dimension->num_elements() != 1) {
    throw invalid_argument("axis, got {}, expected an integer known while building", c.input(1));
  }
  const int64_t axis = extremum_axis(*dimension, x.shape);
  Dims dims = x.shape.dims();
  dims.erase(dims.begin() + axis);
  return {{index, Shape(std::move(dims))}};
}

std::vector<hlo::Value> lower_extremum_index(LowerContext& c, hlo::ComparisonDirection better) {
  const hlo::Value x = c.input(0);
  const int64_t axis = extremum_axis(c.constant_input(1), x.shape());
  const hlo::Value index = c.b.iota({DType::s32, x.shape()}, axis);
  const hlo::Value worst =
      c.b.identity(better == gt ? hlo::Opcode::maximum : hlo::Opcode::minimum, x.dtype());
  // An index after all others: where all elements are as bad as `worst` they tie with it and win.
  const hlo::Value behind = c.b.scalar(DType::s32, 0x7fffffff);
  hlo::Instruction* reduce = c.b.op_with_regions(
      hlo::Opcode::reduce, {x, index, worst, behind}, hlo::DimensionsAttrs{{axis}},
      [&](hlo::Instruction& op) { fill_better(op.add_region(), x.dtype(), better); });
  return {c.b.convert(reduce->result(1), c.attr<DType>("output_type"))};
}

}  // namespace systole
