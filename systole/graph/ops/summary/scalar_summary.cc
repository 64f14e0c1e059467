#include "systole/graph/ops/summary/summary_common.h"

namespace systole::ops {

extern const OpDef op_scalar_summary{
    .name = "ScalarSummary",
    .doc = "A number for TensorBoard.",
    .inputs = "tags: string, values: T",
    .outputs = "summary: string",
    .infer = infer_summary,
    .host = summary_kernel,
    .traits = {.blocks_gradient = true},
};

}  // namespace systole::ops
