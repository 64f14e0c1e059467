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

// The member of the group whose operand `i` is sent.
size_t root_of(const CollectiveBroadcastAttrs& attrs, std::span<const Tensor> operands, size_t i,
               size_t group_size) {
  if (!attrs.has_dynamic_root) return 0;
  const int64_t root = operands.back().data<int32_t>()[i];
  if (root < 0 || root >= static_cast<int64_t>(group_size)) {  // C6
    throw invalid_argument("collective_broadcast: root, got {}, expected in [0, {})", root,
                           group_size);
  }
  return static_cast<size_t>(root);
}

// Zeros for those in no group.
std::vector<Tensor> evaluate(const Instruction& instruction, std::span<const Tensor> operands,
                             const Evaluator& evaluator) {
  const auto& attrs = instruction.attrs<CollectiveBroadcastAttrs>();
  const Grouping grouping = grouping_of(attrs.groups.channel_handle);
  const std::vector<int64_t> group =
      group_around(instruction, evaluator.process(), attrs.groups, grouping, Groups::some);
  std::vector<Tensor> results;
  if (group.empty()) {
    for (const TensorType& type : instruction.results()) {
      results.push_back(Tensor::zeros(type.dtype, type.shape));
    }
    return results;
  }
  const auto given =
      evaluator.process().exchange(instruction, group, {operands.begin(), operands.end()});
  for (size_t i = 0; i < instruction.results().size(); ++i) {
    results.push_back(given[root_of(attrs, operands, i, group.size())][i]);
  }
  return results;
}

}  // namespace

extern const OpSemantics collective_broadcast_semantics;
const OpSemantics collective_broadcast_semantics{.infer = infer, .evaluate = evaluate};

}  // namespace systole::hlo::ops
