#include "systole/graph/ops/summary/summary_common.h"

namespace systole::ops {

extern const OpDef op_image_summary{
    .name = "ImageSummary",
    .doc = "The first images of a batch for TensorBoard.",
    .inputs = "tag: string, tensor: T",
    .outputs = "summary: string",
    .attrs = "max_images: int = 3",
    .infer = infer_summary,
    .host = summary_kernel,
    .traits = {.blocks_gradient = true},
};

}  // namespace systole::ops
