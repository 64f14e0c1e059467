// What the files of elementwise ops are made of.
#pragma once

#include <string>
#include <vector>

#include "systole/graph/core/dtype_class.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/lowering/broadcast.h"

namespace systole {

// -- Inference. Errors: INVALID_ARGUMENT names the dtype, or both dtypes, or both shapes.

// x: the type of x.
std::vector<TensorType> infer_unary(const InferContext& c, DTypeClass dtypes);
// x, y of one dtype -> that dtype, or `result` when given, at the shape they broadcast to.
std::vector<TensorType> infer_binary(const InferContext& c, DTypeClass dtypes,
                                     DType result = DType::invalid);

// The same as functions for an OpDef.
template <DTypeClass kDTypes>
std::vector<TensorType> infer_unary(const InferContext& c) {
  return infer_unary(c, kDTypes);
}
// x -> pred
template <DTypeClass kDTypes>
std::vector<TensorType> infer_test(const InferContext& c) {
  return {{DType::pred, infer_unary(c, kDTypes)[0].shape}};
}
template <DTypeClass kDTypes>
std::vector<TensorType> infer_binary(const InferContext& c) {
  return infer_binary(c, kDTypes);
}
template <DTypeClass kDTypes>
std::vector<TensorType> infer_comparison(const InferContext& c) {
  return infer_binary(c, kDTypes, DType::pred);
}

// -- Lowering.

std::vector<hlo::Value> lower_unary(LowerContext& c, hlo::Opcode opcode);
std::vector<hlo::Value> lower_binary(LowerContext& c, hlo::Opcode opcode);
std::vector<hlo::Value> lower_comparison(LowerContext& c, hlo::ComparisonDirection direction);

template <hlo::Opcode kOpcode>
std::vector<hlo::Value> lower_unary(LowerContext& c) {
  return lower_unary(c, kOpcode);
}
template <hlo::Opcode kOpcode>
std::vector<hlo::Value> lower_binary(LowerContext& c) {
  return lower_binary(c, kOpcode);
}
template <hlo::ComparisonDirection kDirection>
std::vector<hlo::Value> lower_comparison(LowerContext& c) {
  return lower_comparison(c, kDirection);
}

// -- Values that lowerings need.

// x < value, and so on, with `value` spread over x's shape.
hlo::Value compare_with(hlo::Builder& b, hlo::Value x, hlo::ComparisonDirection direction,
                        double value);

}  // namespace systole
