#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/array/extremum_index.h"

namespace systole {

Output argmin(const Input& input, const ArgOptions& options) {
  return extremum_index_op("ArgMin", input, options);
}

namespace ops {
extern const OpDef op_argmin{
    .name = "ArgMin",
    .doc = "The index of the smallest element along an axis, the lowest of those that tie.",
    .inputs = "input: T, dimension: Tidx",
    .outputs = "output: output_type",
    .attrs = "output_type: type = int64",
    .infer = infer_extremum_index,
    .lower = [](LowerContext& c) { return lower_extremum_index(c, hlo::ComparisonDirection::lt); },
    .batch = {.rule = batch_axes_input},
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
