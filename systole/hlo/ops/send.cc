#include "systole/hlo/collective.h"
#include "systole/hlo/token.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  check_token(context, context.num_operands() - 1);                               // I2
  check_pairs(context.opcode, context.get<TransferAttrs>().source_target_pairs);  // C1 - C4
  return {token_type()};
}

}  // namespace

extern const OpSemantics send_semantics;
const OpSemantics send_semantics{.infer = infer};

}  // namespace systole::hlo::ops
