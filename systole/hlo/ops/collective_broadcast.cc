#include "systole/base/error.h"
#include "systole/hlo/collective.h"
#include "systole/hlo/signature.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  const auto& attrs = context.get<CollectiveBroadcastAttrs>();
  check_groups(context.opcode, attrs.groups, Groups::some);  // C1, C2
  std::vector<TensorType> results = types_of(context.operands);
  if (!attrs.has_dynamic_root) return results;  // C3
  const TensorType roots = results.back();
  results.pop_back();
  const TensorType expected{DType::s32, {static_cast<int64_t>(results.size())}};
  if (results.empty() || roots != expected) {  // C4
    throw invalid_argument("collective_broadcast: roots, got {}, expected {}, one an operand",
                           roots, expected);
  }
  return results;  // C5
}

}  // namespace

extern const OpSemantics collective_broadcast_semantics;
const OpSemantics collective_broadcast_semantics{.infer = infer};

}  // namespace systole::hlo::ops
