#include "systole/base/error.h"
#include "systole/hlo/ir/signature.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_case(const InferContext& context) {
  const TensorType& index = context.operand(0);
  if (index != TensorType{DType::s32, {}}) {  // I1
    throw invalid_argument("case: index, got {}, expected s32[]", index);
  }
  if (context.regions.empty()) {  // C1
    throw invalid_argument("case: number of branches, got 0, expected at least 1");
  }
  std::vector<TensorType> types = result_types(*context.regions[0]);  // C4
  for (const auto& branch : context.regions) {
    check_types("case", "parameter types of a branch", parameter_types(*branch), {});     // C2
    check_types("case", "types of the branches' results", result_types(*branch), types);  // C3
  }
  return types;
}

std::vector<Tensor> evaluate_case(const Instruction& instruction, std::span<const Tensor> operands,
                                  const Evaluator& evaluator) {
  const int32_t index = operands[0].item<int32_t>();
  const int last = instruction.num_regions() - 1;
  const int chosen = index >= 0 && index < last ? index : last;
  return evaluator.run_region(instruction.region(chosen), {});
}

}  // namespace

extern const OpSemantics case_semantics{
    .infer = infer_case,
    .evaluate = evaluate_case,
    .example = OpExample{.parameters = "%i: tensor<i32>, %a: tensor<4x$T>",
                         .results = "tensor<4x$T>",
                         .body = R"(%r = "stablehlo.case"(%i) ({
  "stablehlo.return"(%a) : (tensor<4x$T>) -> ()
}) : (tensor<i32>) -> tensor<4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::own, .per_axis = true},
    .vectorize = replicas::vectorize_branches,
    .shard = spmd::shard_branches};

}  // namespace systole::hlo::ops
