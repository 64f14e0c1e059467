#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/collective.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_collective_reduce(const InferContext& context) {
  std::vector<TensorType> results = check_rooted(context);  // C1, C2, C3
  for (TensorType& result : results) {
    result.dtype = check_reducer(context, 0, {&result.dtype, 1})[0];  // C4
  }
  return results;
}

// The root of each operand gets the reduction; all others get zeros.
std::vector<Tensor> evaluate_collective_reduce(const Instruction& instruction,
                                               std::span<const Tensor> operands,
                                               const Evaluator& evaluator) {
  Process& process = evaluator.process();
  const CollectiveAttrs& groups = instruction.attrs<RootedCollectiveAttrs>().groups;
  const std::vector<int64_t> group =
      group_around(instruction, process, groups, grouping_of(groups.channel_handle), Groups::some);
  std::vector<Tensor> results = zeros_of(instruction.results());
  if (group.empty()) return results;
  const auto given = process.exchange(instruction, group, {operands.begin(), operands.end()});
  for (size_t i = 0; i < results.size(); ++i) {
    if (group[root_of(instruction, operands, i, group.size())] != process.number()) continue;
    results[i] =
        combine_elements(instruction.region(), evaluator, results[i].dtype(), column(given, i));
  }
  return results;
}

}  // namespace

extern const OpSemantics collective_reduce_semantics{
    .infer = infer_collective_reduce,
    .evaluate = evaluate_collective_reduce,
    .example = OpExample{.parameters = "%a: tensor<4x$T>",
                         .results = "tensor<4x$T>",
                         .body = R"(%r = "stablehlo.collective_reduce"(%a) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.add"(%x, %y) : (tensor<$T>, tensor<$T>) -> tensor<$T>
  "stablehlo.return"(%z) : (tensor<$T>) -> ()
}) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4x$T>) -> tensor<4x$T>)"},
    .vectorize = replicas::vectorize_collective_reduce,
    .shard = spmd::shard_collective};

}  // namespace systole::hlo::ops
