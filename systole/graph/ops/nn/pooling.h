// What the pooling ops share.
#pragma once

#include "systole/graph/lowering/dtype_class.h"
#include "systole/graph/op_def.h"
#include "systole/graph/ops/nn/window_geometry.h"

namespace systole {

AttrMap pool_op_attrs(std::string_view op, const Input& value, const PoolOptions& options);
// Errors: INVALID_ARGUMENT for other dtypes, ranks, windows larger than the input.
std::vector<TensorType> infer_pool(const InferContext& c, DTypeClass dtypes);
// (input, result, gradient) of one dtype -> the type of `input(like)`. Errors: INVALID_ARGUMENT for
// other dtypes.
std::vector<TensorType> infer_max_pool_gradient(const InferContext& c, int like);

// Each window of `x` reduced.
hlo::Value reduce_window(hlo::Builder& b, hlo::Value x, hlo::Opcode reducer,
                         const hlo::WindowAttrs& attrs);
// x, an element a window, divided by how many elements of the input lie in each, padding not
// counted.
hlo::Value divide_by_counts(hlo::Builder& b, hlo::Value x, const ImageWindow& window);

// TensorFlow's ops for the gradients; `attrs` are the forward op's.
Output max_pool_grad(Output input, Output result, Output gradient, const AttrMap& attrs);
Output max_pool_grad_grad(Output input, Output result, Output gradient, const AttrMap& attrs);
Output avg_pool_grad(Output input_sizes, Output gradient, const AttrMap& attrs);

}  // namespace systole
