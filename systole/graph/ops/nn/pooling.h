// What the pooling ops share, of images and of volumes.
#pragma once

#include "systole/graph/core/dtype_class.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/ops/nn/window_geometry.h"

namespace systole {

// The options of an op as its attributes.
AttrMap pool_op_attrs(std::string_view op, const Input& value, const PoolOptions& options);
AttrMap pool_op_attrs(std::string_view op, const Input& value, const Pool3DOptions& options);

// Errors: INVALID_ARGUMENT for other dtypes, another number of spatial axes, windows larger than
// the input.
std::vector<TensorType> infer_pool(const InferContext& c, DTypeClass dtypes, int num_spatial);
// (input, result, gradient) of one dtype -> the type of `input(like)`. Errors: INVALID_ARGUMENT for
// other dtypes.
std::vector<TensorType> infer_max_pool_gradient(const InferContext& c, int like);

// Each window of `x` reduced.
hlo::Value reduce_window(hlo::Builder& b, hlo::Value x, hlo::Opcode reducer,
                         const hlo::WindowAttrs& attrs);
// x, an element a window, divided by how many elements of the input lie in each, padding not
// counted.
hlo::Value divide_by_counts(hlo::Builder& b, hlo::Value x, const SpatialWindow& window);

// A node of the op that is the gradient of c's (TensorFlow adds "Grad" to the name), or that c's is
// the gradient of, with the same attributes.
Output add_pool_gradient(const GradientContext& c, std::vector<Output> inputs);
Output add_pool_of_gradient(const GradientContext& c, std::vector<Output> inputs);

// -- The fields of the ops' definitions: the same for images and volumes.

template <int kSpatial>
std::vector<TensorType> infer_max_pool(const InferContext& c) {
  return infer_pool(c, DTypeClass::number, kSpatial);
}
template <int kSpatial>
std::vector<TensorType> infer_avg_pool(const InferContext& c) {
  return infer_pool(c, DTypeClass::floating, kSpatial);
}

// (input).
std::vector<hlo::Value> lower_max_pool(LowerContext& c);
std::vector<Output> max_pool_gradient(GradientContext& c);
std::vector<hlo::Value> lower_avg_pool(LowerContext& c);
std::vector<Output> avg_pool_gradient(GradientContext& c);

// (input, result, gradient): the gradient of MaxPool.
std::vector<TensorType> infer_max_pool_grad(const InferContext& c);
std::vector<hlo::Value> lower_max_pool_grad(LowerContext& c);
std::vector<Output> max_pool_grad_gradient(GradientContext& c);
// (input, result, gradient of the gradient): the gradient of MaxPoolGrad.
std::vector<TensorType> infer_max_pool_grad_grad(const InferContext& c);
std::vector<hlo::Value> lower_max_pool_grad_grad(LowerContext& c);
std::vector<Output> max_pool_grad_grad_gradient(GradientContext& c);
// (input sizes, gradient): the gradient of AvgPool.
std::vector<TensorType> infer_avg_pool_grad(const InferContext& c);
std::vector<hlo::Value> lower_avg_pool_grad(LowerContext& c);
std::vector<Output> avg_pool_grad_gradient(GradientContext& c);

}  // namespace systole
