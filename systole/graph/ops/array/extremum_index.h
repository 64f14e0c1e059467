// What argmax and argmin have in common.
#pragma once

#include <string_view>
#include <vector>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/op_def.h"

namespace systole {

// A node of `op` ("ArgMax", "ArgMin") with inputs (x, axis as an s32 scalar).
Output extremum_index_op(std::string_view op, const Input& x, const ArgOptions& options);
std::vector<TensorType> infer_extremum_index(const InferContext& c);
// The index of the first element that is `better` (gt or lt) than all others, or NaN.
std::vector<hlo::Value> lower_extremum_index(LowerContext& c, hlo::ComparisonDirection better);

}  // namespace systole
