#include "systole/graph/ops/summary/summary_common.h"

namespace systole::ops {

extern const OpDef op_histogram_summary{
    .name = "HistogramSummary",
    .doc = "The distribution of values for TensorBoard.",
    .inputs = "tag: string, values: T",
    .outputs = "summary: string",
    .infer = infer_summary,
    .host = summary_kernel,
    .traits = {.blocks_gradient = true},
};

}  // namespace systole::ops
