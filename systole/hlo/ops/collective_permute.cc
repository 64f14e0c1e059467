#include "systole/hlo/collective.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  check_pairs(context.opcode,
              context.get<CollectivePermuteAttrs>().source_target_pairs);  // C1 - C4
  return {context.operand(0)};                                             // C5
}

}  // namespace

extern const OpSemantics collective_permute_semantics;
const OpSemantics collective_permute_semantics{.infer = infer};

}  // namespace systole::hlo::ops
