#include "systole/base/error.h"
#include "systole/hlo/ir/collective.h"
#include "systole/hlo/ir/token.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_send(const InferContext& context) {
  check_token(context, context.num_operands() - 1);                               // I2
  check_pairs(context.opcode, context.get<TransferAttrs>().source_target_pairs);  // C1 - C4
  return {token_type()};
}

std::vector<Tensor> evaluate_send(const Instruction& instruction, std::span<const Tensor>,
                                  const Evaluator&) {
  throw unimplemented("send: got a device without a channel to send to, expected none, {}",
                      instruction.describe());
}

}  // namespace

extern const OpSemantics send_semantics;
const OpSemantics send_semantics{.infer = infer_send, .evaluate = evaluate_send};

}  // namespace systole::hlo::ops
