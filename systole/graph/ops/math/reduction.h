// What the reductions have in common: (tensor, axes known when the program is compiled) -> the
// tensor without these axes, or with size 1 there.
#pragma once

#include <string_view>
#include <vector>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/dtype_class.h"
#include "systole/graph/core/op_def.h"

namespace systole {

// A node of `op` with inputs (x, axes as s32[n]) and attributes T, Tidx, keep_dims.
Output reduction_op(std::string_view op, const Input& x, const ReduceOptions& options);

// Errors: INVALID_ARGUMENT names the axis or the dtype; axes must be known while building, for they
// decide the rank.
std::vector<TensorType> infer_reduction(const InferContext& c, DTypeClass dtypes);

// The axes of a reduction node, ascending in [0, rank of input 0).
Dims reduction_axes(const LowerContext& c);
Dims reduction_axes(const GradientContext& c);

// x reduced over `axes`; 16-bit floating sums and products accumulate in f32.
hlo::Value lower_reduce(hlo::Builder& b, hlo::Value x, hlo::Opcode reducer, const Dims& axes);
// The value of a reduction node from its value without the axes: with size 1 there when keep_dims.
hlo::Value keep_reduced_axes(LowerContext& c, hlo::Value reduced);

template <DTypeClass kDTypes>
std::vector<TensorType> infer_reduction(const InferContext& c) {
  return infer_reduction(c, kDTypes);
}
template <hlo::Opcode kReducer>
std::vector<hlo::Value> lower_reduction(LowerContext& c) {
  return {keep_reduced_axes(c, lower_reduce(c.b, c.input(0), kReducer, reduction_axes(c)))};
}

// `value`, with the type of the node's output, at every element of its input that was reduced into
// it.
Output expand_reduced(GradientContext& c, Output value);
// The gradient of a maximum or minimum: shared by the elements that tie.
std::vector<Output> extremum_gradient(GradientContext& c);

}  // namespace systole
