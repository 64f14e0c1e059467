#include "systole/graph/ops/summary/summary_common.h"

namespace systole::ops {

extern const OpDef op_tensor_summary{
    .name = "TensorSummaryV2",
    .doc = "A tensor for a plugin of TensorBoard: text.",
    .inputs = "tag: string, tensor: T, serialized_summary_metadata: string",
    .outputs = "summary: string",
    .infer = infer_summary,
    .host = summary_kernel,
    .traits = {.blocks_gradient = true},
};

}  // namespace systole::ops
