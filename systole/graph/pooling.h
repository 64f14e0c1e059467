// What the pooling ops share.
#pragma once

#include "systole/graph/op_def.h"
#include "systole/graph/window_geometry.h"

namespace systole {

AttrMap pool_op_attrs(std::string_view op, const PoolOptions& options);
// Errors: INVALID_ARGUMENT for a dtype that is not floating, ranks, windows larger than the input.
std::vector<TensorType> infer_pool(const InferContext& c);
// Each window of `x` reduced.
hlo::Value reduce_window(hlo::Builder& b, hlo::Value x, hlo::Opcode reducer, const hlo::WindowAttrs& attrs);
// How many elements of an input of `shape` lie in each window, padding not counted; the type of the op's result.
hlo::Value window_counts(LowerContext& c, const TensorType& input);

// TensorFlow's MaxPoolGrad and AvgPoolGrad; `attrs` are the forward op's.
Output max_pool_grad(Output input, Output gradient, const AttrMap& attrs);
Output avg_pool_grad(Output input_sizes, Output gradient, const AttrMap& attrs);

}  // namespace systole
