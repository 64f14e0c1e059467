#include "systole/base/error.h"
#include "systole/hlo/ir/signature.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_if(const InferContext& context) {
  const TensorType& pred = context.operand(0);
  if (pred != TensorType{DType::pred, {}}) {  // I1
    throw invalid_argument("if: pred, got {}, expected pred[]", pred);
  }
  std::vector<TensorType> types = result_types(*context.regions[0]);  // C3
  for (const auto& branch : context.regions) {
    check_types("if", "parameter types of a branch", parameter_types(*branch), {});     // C1
    check_types("if", "types of the branches' results", result_types(*branch), types);  // C2
  }
  return types;
}

std::vector<Tensor> evaluate_if(const Instruction& instruction, std::span<const Tensor> operands,
                                const Evaluator& evaluator) {
  return evaluator.run_region(instruction.region(operands[0].item<bool>() ? 0 : 1), {});
}

}  // namespace

extern const OpSemantics if_semantics{
    .infer = infer_if,
    .evaluate = evaluate_if,
    .example = OpExample{.parameters = "%p: tensor<i1>, %a: tensor<4x$T>",
                         .results = "tensor<4x$T>",
                         .body = R"(%r = "stablehlo.if"(%p) ({
  "stablehlo.return"(%a) : (tensor<4x$T>) -> ()
}, {
  "stablehlo.return"(%a) : (tensor<4x$T>) -> ()
}) : (tensor<i1>) -> tensor<4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::own, .per_axis = true},
    .vectorize = replicas::vectorize_branches,
    .shard = spmd::shard_branches};

}  // namespace systole::hlo::ops
