#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/collective.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_collective_broadcast(const InferContext& context) {
  return check_rooted(context);
}

std::vector<Tensor> evaluate_collective_broadcast(const Instruction& instruction,
                                                  std::span<const Tensor> operands,
                                                  const Evaluator& evaluator) {
  const CollectiveAttrs& groups = instruction.attrs<RootedCollectiveAttrs>().groups;
  const std::vector<int64_t> group = group_around(instruction, evaluator.process(), groups,
                                                  grouping_of(groups.channel_handle), Groups::some);
  std::vector<Tensor> results = zeros_of(instruction.results());
  if (group.empty()) return results;
  const auto given =
      evaluator.process().exchange(instruction, group, {operands.begin(), operands.end()});
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = given[root_of(instruction, operands, i, group.size())][i];
  }
  return results;
}

}  // namespace

extern const OpSemantics collective_broadcast_semantics{
    .infer = infer_collective_broadcast,
    .evaluate = evaluate_collective_broadcast,
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>",
            .results = "tensor<4x$T>",
            .body =
                R"(%r = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4x$T>) -> tensor<4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::moves},
    .replicas = AcrossReplicas::one_per_group,
    .vectorize = replicas::vectorize_collective_broadcast,
    .shard = spmd::shard_collective};

}  // namespace systole::hlo::ops
