#include "systole/hlo/semantics/token.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_after_all(const InferContext& context) {
  for (int i = 0; i < context.num_operands(); ++i) check_token(context, i);  // I1
  return {token_type()};
}

std::vector<Tensor> evaluate_after_all(const Instruction&, std::span<const Tensor>,
                                       const Evaluator&) {
  return {token_value()};
}

}  // namespace

extern const OpSemantics after_all_semantics{
    .infer = infer_after_all,
    .evaluate = evaluate_after_all,
    .format = AssemblyFormat{"$*", TypeForm::same},
    .example = OpExample{.parameters = "%a: tensor<4x$T>",
                         .results = "tensor<4x$T>",
                         .body = R"(%t = "stablehlo.after_all"() : () -> !stablehlo.token
%u = "stablehlo.after_all"(%t) : (!stablehlo.token) -> !stablehlo.token
%r:2 = "stablehlo.optimization_barrier"(%a, %u) : (tensor<4x$T>, !stablehlo.token) -> (tensor<4x$T>, !stablehlo.token))"}};

}  // namespace systole::hlo::ops
