#include "systole/graph/ops/array/extremum_index.h"

namespace systole {

Output argmax(const Input& input, const ArgOptions& options) {
  return extremum_index_op("ArgMax", input, options);
}

namespace ops {
extern const OpDef op_argmax;
const OpDef op_argmax{
    .name = "ArgMax",
    .doc = "The index of the largest element along an axis, the lowest of those that tie.",
    .infer = infer_extremum_index,
    .lower = [](LowerContext& c) { return lower_extremum_index(c, hlo::ComparisonDirection::gt); },
    .blocks_gradient = true,
};
}  // namespace ops
}  // namespace systole
