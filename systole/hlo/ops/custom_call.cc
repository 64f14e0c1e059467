#include "systole/base/error.h"
#include "systole/hlo/ir/placement.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::ops {
namespace {

// Only the target knows which types fit.
std::vector<TensorType> infer_custom_call(const InferContext& context) {
  const int version = context.get<CustomCallAttrs>().api_version;
  if (version < 0 || version > 4) {
    throw invalid_argument("custom_call: api_version, got {}, expected in [0, 5)", version);
  }
  return {context.declared.begin(), context.declared.end()};
}

std::vector<Tensor> evaluate_custom_call(const Instruction& instruction,
                                         std::span<const Tensor> operands, const Evaluator&) {
  if (is_placement(instruction)) return {operands.begin(), operands.end()};
  const std::string& target = instruction.attrs<CustomCallAttrs>().call_target_name;
  if (is_placement_target(target)) {
    throw unimplemented(
        "custom_call: '{}', got results of other types than the operands, expected the same: one "
        "device runs the program, {}",
        target, instruction.describe());
  }
  throw unimplemented("custom_call: target, got '{}', expected one that this device has, {}",
                      target, instruction.describe());
}

}  // namespace

extern const OpSemantics custom_call_semantics{
    .infer = infer_custom_call,
    .evaluate = evaluate_custom_call,
    .format = AssemblyFormat{"<@call_target_name>($*)", TypeForm::functional},
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>",
            .results = "tensor<4x$T>",
            .body =
                R"(%r = "stablehlo.custom_call"(%a) {call_target_name = "f"} : (tensor<4x$T>) -> tensor<4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::own, .per_axis = true},
    .replicas = AcrossReplicas::by_operands,
    .shard = spmd::shard_custom_call};

}  // namespace systole::hlo::ops
