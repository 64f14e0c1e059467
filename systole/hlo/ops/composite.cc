#include <algorithm>

#include "systole/base/error.h"
#include "systole/hlo/semantics/call.h"

namespace systole::hlo::ops {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word_char(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; }

// Matches [a-zA-Z][a-zA-Z0-9_]*(\.[a-zA-Z0-9_$]+)+
bool is_namespaced(std::string_view name) {
  size_t dot = name.find('.');
  if (dot == 0 || dot == std::string_view::npos || !is_letter(name[0])) return false;
  if (!std::ranges::all_of(name.substr(0, dot), is_word_char)) return false;
  while (dot != std::string_view::npos) {
    const size_t next = name.find('.', dot + 1);
    const std::string_view part = name.substr(dot + 1, next - dot - 1);
    const auto fits = [](char c) { return is_word_char(c) || c == '$'; };
    if (part.empty() || !std::ranges::all_of(part, fits)) return false;
    dot = next;
  }
  return true;
}

std::vector<TensorType> infer_composite(const InferContext& context) {
  const auto& attrs = context.get<CompositeAttrs>();
  if (!is_namespaced(attrs.name)) {  // C1
    throw invalid_argument("composite: name, got '{}', expected one such as 'namespace.op'",
                           attrs.name);
  }
  const std::string& own = attrs.composite_attributes.text;
  if (!own.empty() && !own.starts_with('{')) {  // I3
    throw invalid_argument("composite: composite_attributes, got {}, expected {{...}}", own);
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

extern const OpSemantics composite_semantics{
    .infer = infer_composite,
    .evaluate = evaluate_composite,
    .format = AssemblyFormat{"<name> $*", TypeForm::functional},
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>",
            .results = "tensor<4x$T>",
            .body =
                R"(%r = "stablehlo.composite"(%a) {name = "n.f", decomposition = @f} : (tensor<4x$T>) -> tensor<4x$T>)",
            .functions = R"(func.func private @f(%x: tensor<4x$T>) -> tensor<4x$T> {
  "func.return"(%x) : (tensor<4x$T>) -> ()
})"},
    .quantized = OpQuantization{.form = QuantizedForm::own, .per_axis = true}};

}  // namespace systole::hlo::ops
