#include "systole/graph/ops/math/reduction.h"

#include <algorithm>
#include <utility>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/lowering/broadcast.h"

namespace systole {
namespace {

Dims axes_from(const Tensor& tensor, int rank) {
  Dims axes;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    axes.push_back(static_cast<int64_t>(tensor.as_double(i)));
  }
  return normalize_axes(axes, rank);
}

Shape reduced_shape(const Shape& shape, const Dims& axes, bool keepdims) {
  Dims dims;
  for (int i = 0; i < shape.rank(); ++i) {
    if (std::ranges::find(axes, i) == axes.end()) {
      dims.push_back(shape[i]);
    } else if (keepdims) {
      dims.push_back(1);
    }
  }
  return Shape(std::move(dims));
}

}  // namespace

Output reduction_op(std::string_view op, const Input& x, const ReduceOptions& options) {
  const CompositionScope scope(x, options.name, op);
  const Output value = resolve(op, x);
  const Dims axes = options.axis.list(value.shape().rank());
  const std::vector<int32_t> elements(axes.begin(), axes.end());
  const Tensor tensor = Tensor::of<int32_t>({static_cast<int64_t>(elements.size())}, elements);
  const Output indices = constant(tensor, {.name = "reduction_indices"});
  AttrMap attrs{{"T", value.dtype()}, {"Tidx", DType::s32}, {"keep_dims", options.keepdims}};
  return Graph::current()
      .add_node(op, {value, indices}, std::move(attrs), x.where(), scope.result().name)
      ->output();
}

std::vector<TensorType> infer_reduction(const InferContext& c, DTypeClass dtypes) {
  const TensorType& x = c.input(0);
  check_dtype("dtype", x.dtype, dtypes);
  const std::optional<Tensor> axes = c.constant_input(1);
  if (!axes || !is_integer(axes->dtype())) {
    throw invalid_argument("axis, got {}, expected integers known while building", c.input(1));
  }
  const bool keepdims = c.attr<bool>("keep_dims");
  return {{x.dtype, reduced_shape(x.shape, axes_from(*axes, x.shape.rank()), keepdims)}};
}

Dims reduction_axes(const LowerContext& c) {
  const std::vector<int64_t> axes = c.constant_ints(1);
  return normalize_axes(axes, c.input(0).shape().rank());
}

Dims reduction_axes(const GradientContext& c) {
  return axes_from(*constant_value(c.input(1)), c.input(0).shape().rank());
}

hlo::Value lower_reduce(hlo::Builder& b, hlo::Value x, hlo::Opcode reducer, const Dims& axes) {
  if (axes.empty()) return x;
  const bool accumulates = reducer == hlo::Opcode::add || reducer == hlo::Opcode::multiply;
  const hlo::Value wide = accumulates ? b.convert(x, accumulation_dtype(x.dtype())) : x;
  return b.convert(b.reduce(wide, reducer, axes), x.dtype());
}

hlo::Value keep_reduced_axes(LowerContext& c, hlo::Value reduced) {
  if (!c.attr<bool>("keep_dims")) return reduced;
  return c.b.reshape(reduced, reduced_shape(c.input(0).shape(), reduction_axes(c), true));
}

Output expand_reduced(GradientContext& c, Output value) {
  return expand_reduced(value, c.input(0), reduction_axes(c), c.attr<bool>("keep_dims"));
}

std::vector<Output> extremum_gradient(GradientContext& c) {
  const Output x = c.input(0);
  const Output tie = equal(x, expand_reduced(c, c.output()));
  const Output count = reduce_sum(
      cast(tie, x.dtype()), {.axis = reduction_axes(c), .keepdims = c.attr<bool>("keep_dims")});
  return {where_v2(tie, expand_reduced(c, c.grad() / count), 0), Output()};
}

}  // namespace systole
