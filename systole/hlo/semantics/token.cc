#include "systole/hlo/semantics/token.h"

#include <algorithm>

#include "systole/base/error.h"
#include "systole/hlo/ir/signature.h"

namespace systole::hlo {

void check_token(const InferContext& context, int i) {
  if (context.operand(i) == token_type()) return;
  throw invalid_argument("{}: operand {}, got {}, expected a token", context.opcode, i,
                         context.operand(i));
}

void check_tensors_and_token(const InferContext& context) {
  const int last = context.num_operands() - 1;
  check_token(context, last);
  for (int i = 0; i < last; ++i) {
    if (context.operand(i) != token_type()) continue;
    throw invalid_argument("{}: operand {}, got a token, expected tensors before the last operand",
                           context.opcode, i);
  }
}

std::vector<TensorType> declared_and_token(const InferContext& context) {
  if (context.declared.empty() || context.declared.back() != token_type()) {
    throw invalid_argument("{}: last result type, got {}, expected a token", context.opcode,
                           context.declared.empty() ? "none" : context.declared.back().to_string());
  }
  const auto others = context.declared.first(context.declared.size() - 1);
  if (std::ranges::find(others, token_type()) != others.end()) {
    throw invalid_argument("{}: result types, got {}, expected tensors before the token",
                           context.opcode, to_string(context.declared));
  }
  return {context.declared.begin(), context.declared.end()};
}

}  // namespace systole::hlo
