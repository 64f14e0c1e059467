#include "systole/base/error.h"
#include "systole/hlo/batch_norm.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  check_batch_norm(context, {"scale", "offset", "mean", "variance"});  // C1 - C6
  return {context.operand(0)};                                         // C7
}

}  // namespace

extern const OpSemantics batch_norm_inference_semantics;
const OpSemantics batch_norm_inference_semantics{.infer = infer};

}  // namespace systole::hlo::ops
