#include <algorithm>

#include "systole/base/error.h"
#include "systole/hlo/ir/callees.h"

namespace systole::hlo::ops {
namespace {

// Two parts or more, separated by dots.
bool is_namespaced(std::string_view name) {
  return name.find('.') != std::string_view::npos && !name.starts_with('.') && !name.ends_with('.');
}

std::vector<TensorType> infer_composite(const InferContext& context) {
  const auto& attrs = context.get<CompositeAttrs>();
  if (!is_namespaced(attrs.name)) {  // C1
    throw invalid_argument("composite: name, got '{}', expected one such as 'namespace.op'",
                           attrs.name);
  }
  return infer_call(context, attrs.decomposition);  // C2, C3, C4
}

std::vector<Tensor> evaluate_composite(const Instruction& instruction,
                                       std::span<const Tensor> operands,
                                       const Evaluator& evaluator) {
  return evaluate_call(instruction, instruction.attrs<CompositeAttrs>().decomposition, operands,
                       evaluator);
}

}  // namespace

extern const OpSemantics composite_semantics;
const OpSemantics composite_semantics{
    .infer = infer_composite,
    .evaluate = evaluate_composite,
    .format = AssemblyFormat{"<name> $*", TypeForm::functional},
    .example = OpExample{
        .parameters = "%a: tensor<4x$T>",
        .results = "tensor<4x$T>",
        .body =
            R"(%r = "stablehlo.composite"(%a) {name = "n.f", decomposition = @f} : (tensor<4x$T>) -> tensor<4x$T>)",
        .functions = R"(func.func private @f(%x: tensor<4x$T>) -> tensor<4x$T> {
  "func.return"(%x) : (tensor<4x$T>) -> ()
})"}};

}  // namespace systole::hlo::ops
