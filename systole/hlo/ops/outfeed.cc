#include "systole/base/error.h"
#include "systole/hlo/semantics/token.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_outfeed(const InferContext& context) {
  check_tensors_and_token(context);  // I1, I2
  return {token_type()};
}

std::vector<Tensor> evaluate_outfeed(const Instruction& instruction, std::span<const Tensor>,
                                     const Evaluator&) {
  throw unimplemented("outfeed: got a device without an outfeed, expected none, {}",
                      instruction.describe());
}

}  // namespace

extern const OpSemantics outfeed_semantics{
    .infer = infer_outfeed,
    .evaluate = evaluate_outfeed,
    .example = OpExample{.parameters = "%a: tensor<4x$T>",
                         .results = "tensor<4x$T>",
                         .body = R"(%t = "stablehlo.after_all"() : () -> !stablehlo.token
%u = "stablehlo.outfeed"(%a, %t) {outfeed_config = ""} : (tensor<4x$T>, !stablehlo.token) -> !stablehlo.token
%r = "stablehlo.reshape"(%a) : (tensor<4x$T>) -> tensor<4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::own, .per_axis = true},
    .replicas = AcrossReplicas::apart};

}  // namespace systole::hlo::ops
