#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/array/extremum_index.h"

namespace systole {

Output argmax(const Input& input, const ArgOptions& options) {
  return extremum_index_op("ArgMax", input, options);
}

namespace ops {
extern const OpDef op_argmax{
    .name = "ArgMax",
    .doc = "The index of the largest element along an axis, the lowest of those that tie.",
    .inputs = "input: T, dimension: Tidx",
    .outputs = "output: output_type",
    .attrs = "output_type: type = int64",
    .infer = infer_extremum_index,
    .lower = [](LowerContext& c) { return lower_extremum_index(c, hlo::ComparisonDirection::gt); },
    .batch = {.rule = batch_axes_input},
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
