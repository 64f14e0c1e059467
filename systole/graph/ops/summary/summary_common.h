// What the ops for summaries share.
#pragma once

#include <vector>

#include "systole/graph/core/op_def.h"

namespace systole {

// Inference of (tag, values): a string, the Summary message.
std::vector<TensorType> infer_summary(const InferContext& c);

// Such an op names a value for TensorBoard; whoever runs the graph fetches that value (its second
// input) and writes it (train/summary.h). Errors: UNIMPLEMENTED says so.
std::vector<Tensor> summary_kernel(HostContext& context);

}  // namespace systole
