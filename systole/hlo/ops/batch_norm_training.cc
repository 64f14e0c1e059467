#include "systole/base/error.h"
#include "systole/hlo/batch_norm.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  const TensorType features = check_batch_norm(context, {"scale", "offset"});  // C1 - C4
  return {context.operand(0), features, features};                             // C5 - C7
}

}  // namespace

extern const OpSemantics batch_norm_training_semantics;
const OpSemantics batch_norm_training_semantics{.infer = infer};

}  // namespace systole::hlo::ops
