#include "systole/hlo/token.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  check_token(context, context.num_operands() - 1);  // I2
  return {token_type()};
}

}  // namespace

extern const OpSemantics outfeed_semantics;
const OpSemantics outfeed_semantics{.infer = infer};

}  // namespace systole::hlo::ops
