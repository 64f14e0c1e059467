#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/collective.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_all_reduce(const InferContext& context) {
  check_groups(context.opcode, context.get<CollectiveAttrs>(), Groups::every);  // C1 - C4
  std::vector<TensorType> results;
  for (int i = 0; i < context.num_operands(); ++i) {
    const TensorType& operand = context.operand(i);
    const DType dtype = check_reducer(context, 0, {&operand.dtype, 1})[0];  // C5
    results.push_back({dtype, operand.shape});                              // C6, C7
  }
  return results;
}

std::vector<Tensor> evaluate_all_reduce(const Instruction& instruction,
                                        std::span<const Tensor> operands,
                                        const Evaluator& evaluator) {
  const auto& attrs = instruction.attrs<CollectiveAttrs>();
  const auto given =
      exchange_in_group(instruction, operands, evaluator, attrs, grouping_of(attrs), Groups::every);
  std::vector<Tensor> results;
  for (size_t i = 0; i < operands.size(); ++i) {
    results.push_back(combine_elements(instruction.region(), evaluator,
                                       instruction.results()[i].dtype, column(given, i)));
  }
  return results;
}

}  // namespace

extern const OpSemantics all_reduce_semantics{
    .infer = infer_all_reduce,
    .evaluate = evaluate_all_reduce,
    .example = OpExample{.parameters = "%a: tensor<4x$T>",
                         .results = "tensor<4x$T>",
                         .body = R"(%r = "stablehlo.all_reduce"(%a) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.add"(%x, %y) : (tensor<$T>, tensor<$T>) -> tensor<$T>
  "stablehlo.return"(%z) : (tensor<$T>) -> ()
}) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4x$T>) -> tensor<4x$T>)"},
    .replicas = AcrossReplicas::one_per_group,
    .vectorize = replicas::vectorize_all_reduce,
    .shard = spmd::shard_collective};

}  // namespace systole::hlo::ops
