#include "systole/base/error.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/token.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_infeed(const InferContext& context) {
  check_token(context, 0);                                      // I1
  std::vector<TensorType> types = declared_and_token(context);  // C1, C2, C3
  const std::optional<std::vector<Dims>>& layout = context.get<InfeedAttrs>().layout;
  if (layout) {
    check_count(context.opcode, "layout", layout->size(), static_cast<int64_t>(types.size()) - 1);
  }
  return types;
}

std::vector<Tensor> evaluate_infeed(const Instruction& instruction, std::span<const Tensor>,
                                    const Evaluator&) {
  throw unimplemented("infeed: got a device without an infeed, expected none, {}",
                      instruction.describe());
}

}  // namespace

extern const OpSemantics infeed_semantics{
    .infer = infer_infeed,
    .evaluate = evaluate_infeed,
    .example = OpExample{.results = "tensor<4x$T>",
                         .body = R"(%t = "stablehlo.after_all"() : () -> !stablehlo.token
%r:2 = "stablehlo.infeed"(%t) {infeed_config = ""} : (!stablehlo.token) -> (tensor<4x$T>, !stablehlo.token))"},
    .quantized = OpQuantization{.form = QuantizedForm::own, .per_axis = true},
    .replicas = AcrossReplicas::apart};

}  // namespace systole::hlo::ops
