#include "systole/base/error.h"
#include "systole/hlo/semantics/collective.h"
#include "systole/hlo/semantics/token.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_recv(const InferContext& context) {
  check_token(context, 0);  // I1
  const auto& attrs = context.get<TransferAttrs>();
  check_channel(context.opcode, attrs, 3);                 // I3, I4
  check_pairs(context.opcode, attrs.source_target_pairs);  // C1 - C4
  return declared_and_token(context);
}

std::vector<Tensor> evaluate_recv(const Instruction& instruction, std::span<const Tensor>,
                                  const Evaluator&) {
  throw unimplemented("recv: got a device without a channel to receive from, expected none, {}",
                      instruction.describe());
}

}  // namespace

extern const OpSemantics recv_semantics{
    .infer = infer_recv,
    .evaluate = evaluate_recv,
    .example = OpExample{.results = "tensor<4x$T>",
                         .body = R"(%t = "stablehlo.after_all"() : () -> !stablehlo.token
%r:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<4x$T>, !stablehlo.token))"},
    .quantized = OpQuantization{.form = QuantizedForm::own, .per_axis = true},
    .replicas = AcrossReplicas::apart};

}  // namespace systole::hlo::ops
