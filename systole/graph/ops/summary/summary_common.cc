#include "systole/graph/ops/summary/summary_common.h"

namespace systole {

std::vector<TensorType> infer_summary(const InferContext& c) {
  if (c.num_inputs() < 2 || c.input(0).dtype != DType::string) {
    throw invalid_argument("inputs, got {}, expected a tag (a string) and values", c.num_inputs());
  }
  return {{DType::string, {}}};
}

std::vector<Tensor> summary_kernel(HostContext& context) {
  throw unimplemented(
      "{}: summary, got a fetch of the message, expected one of the value '{}' (see "
      "summary::collected)",
      context.node.op_name(), context.node.input(1).name());
}

}  // namespace systole
