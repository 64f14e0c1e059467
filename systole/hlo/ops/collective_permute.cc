#include <algorithm>

#include "systole/base/error.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/collective.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_collective_permute(const InferContext& context) {
  check_pairs(context.opcode,
              context.get<CollectivePermuteAttrs>().source_target_pairs);  // C1 - C4
  return {context.operand(0)};                                             // C5
}

// All processes meet at once, because a process may be the source of one pair and the target of
// another.
std::vector<Tensor> evaluate_collective_permute(const Instruction& instruction,
                                                std::span<const Tensor> operands,
                                                const Evaluator& evaluator) {
  const auto& attrs = instruction.attrs<CollectivePermuteAttrs>();
  const CollectiveAttrs all{.replica_groups = Tensor(DType::s64, {0, 0}),
                            .channel_handle = attrs.channel_handle};
  const Grouping grouping = grouping_of(attrs.channel_handle);
  const std::vector<int64_t> group =
      group_around(instruction, evaluator.process(), all, grouping, Groups::every);
  const auto given = evaluator.process().exchange(instruction, group, {operands[0]});
  const int64_t place = std::ranges::find(group, evaluator.process().number()) - group.begin();
  const auto size = static_cast<int64_t>(group.size());
  for (const auto& [source, target] : attrs.source_target_pairs) {
    if (std::max(source, target) >= size) {
      throw no_such_process(instruction, "source_target_pairs", std::max(source, target), size);
    }
    if (target == place) return {given[source][0]};
  }
  return {Tensor::zeros(instruction.dtype(), instruction.shape())};
}

}  // namespace

extern const OpSemantics collective_permute_semantics{
    .infer = infer_collective_permute,
    .evaluate = evaluate_collective_permute,
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>",
            .results = "tensor<4x$T>",
            .body =
                R"(%r = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<0> : tensor<1x2xi64>} : (tensor<4x$T>) -> tensor<4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::moves},
    .vectorize = replicas::vectorize_collective_permute,
    .shard = spmd::shard_collective};

}  // namespace systole::hlo::ops
