#include "systole/base/error.h"
#include "systole/hlo/semantics/collective.h"
#include "systole/hlo/semantics/token.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_send(const InferContext& context) {
  check_tensors_and_token(context);  // I1, I2
  const auto& attrs = context.get<TransferAttrs>();
  check_channel(context.opcode, attrs, 2);                 // I3, I4
  check_pairs(context.opcode, attrs.source_target_pairs);  // C1 - C4
  return {token_type()};
}

std::vector<Tensor> evaluate_send(const Instruction& instruction, std::span<const Tensor>,
                                  const Evaluator&) {
  throw unimplemented("send: got a device without a channel to send to, expected none, {}",
                      instruction.describe());
}

}  // namespace

extern const OpSemantics send_semantics{
    .infer = infer_send,
    .evaluate = evaluate_send,
    .example = OpExample{.parameters = "%a: tensor<4x$T>",
                         .results = "tensor<4x$T>",
                         .body = R"(%t = "stablehlo.after_all"() : () -> !stablehlo.token
%u = "stablehlo.send"(%a, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true} : (tensor<4x$T>, !stablehlo.token) -> !stablehlo.token
%r = "stablehlo.reshape"(%a) : (tensor<4x$T>) -> tensor<4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::own, .per_axis = true},
    .replicas = AcrossReplicas::apart};

}  // namespace systole::hlo::ops
