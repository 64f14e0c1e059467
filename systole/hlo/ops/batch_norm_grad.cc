#include "systole/base/error.h"
#include "systole/hlo/batch_norm.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  const TensorType features =
      check_batch_norm(context, {"scale", "mean", "variance"});  // C1, C2, C4, C5
  if (context.operand(4) != context.operand(0)) {                // C2, C3
    throw invalid_argument("batch_norm_grad: type of grad_output, got {}, expected {}",
                           context.operand(4), context.operand(0));
  }
  return {context.operand(0), features, features};
}

}  // namespace

extern const OpSemantics batch_norm_grad_semantics;
const OpSemantics batch_norm_grad_semantics{.infer = infer};

}  // namespace systole::hlo::ops
