#include <algorithm>
#include <array>
#include <string_view>

#include "systole/base/error.h"
#include "systole/hlo/op_semantics.h"

namespace systole::hlo::ops {
namespace {

// Anything: the target alone knows what fits.
std::vector<TensorType> infer_custom_call(const InferContext& context) {
  return {context.declared.begin(), context.declared.end()};
}

std::vector<Tensor> evaluate_custom_call(const Instruction& instruction,
                                         std::span<const Tensor> operands, const Evaluator&) {
  const std::string& target = instruction.attrs<CustomCallAttrs>().call_target_name;
  // On one partition these are what they say of how a value is split: nothing.
  constexpr std::array<std::string_view, 3> kAnnotations = {"Sharding", "SPMDFullToShardShape",
                                                            "SPMDShardToFullShape"};
  const bool annotation = std::ranges::find(kAnnotations, target) != kAnnotations.end();
  if (annotation && operands.size() == 1 && instruction.num_results() == 1) return {operands[0]};
  throw unimplemented("custom_call: target, got '{}', expected one that this device has, {}",
                      target, instruction.describe());
}

}  // namespace

extern const OpSemantics custom_call_semantics;
const OpSemantics custom_call_semantics{.infer = infer_custom_call,
                                        .evaluate = evaluate_custom_call};

}  // namespace systole::hlo::ops
