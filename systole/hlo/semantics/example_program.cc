#include "systole/hlo/semantics/example_program.h"

#include <string_view>

#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo {
namespace {

std::string_view number_of(DType dtype) {
  if (dtype == DType::pred) return "true";
  if (is_complex(dtype)) return "(1.0, 0.0)";
  return is_floating(dtype) ? "1.0" : "1";
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

// "%r" for one type, "%r#0, %r#1" for two. Types contain no commas.
std::string result_names(std::string_view results, std::string_view body) {
  size_t count = 1;
  for (size_t at = results.find("tensor<", 1); at != std::string_view::npos;
       at = results.find("tensor<", at + 1))
    ++count;
  if (body.find("%r:") == std::string_view::npos) return "%r";
  std::string names;
  for (size_t i = 0; i < count; ++i) names += (i == 0 ? "%r#" : ", %r#") + std::to_string(i);
  return names;
}

std::string main_text(std::string_view parameters, std::string_view results,
                      std::string_view body) {
  std::string text = "func.func public @main(" + std::string(parameters) + ") -> (";
  text += std::string(results) + ") {\n" + std::string(body) + "\n\"func.return\"(";
  text += result_names(results, body) + ") : (" + std::string(results) + ") -> ()\n}\n";
  return text;
}

std::string elementwise_text(const OpcodeTraits& traits) {
  std::string parameters;
  std::string operands;
  std::string types;
  for (int i = 0; i < traits.min_operands; ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    const std::string name = "%a" + std::to_string(i);
    parameters += comma + name + ": tensor<4x$T>";
    operands += comma + name;
    types += comma + "tensor<4x$T>";
  }
  const std::string body = "%r = \"stablehlo." + std::string(traits.name) + "\"(" + operands +
                           ") : (" + types + ") -> tensor<4x$T>";
  return main_text(parameters, "tensor<4x$T>", body);
}

}  // namespace

std::string example_program(Opcode opcode, DType dtype) {
  std::string text;
  if (const std::optional<OpExample>& example = semantics_of(opcode).example) {
    text = std::string(example->functions) + "\n" +
           main_text(example->parameters, example->results, example->body);
  } else if (traits(opcode).has(kElementwise)) {
    text = elementwise_text(traits(opcode));
  } else {
    return "";
  }
  text = "module @example {\n" + text + "}\n";
  replace_all(text, "$T", dtype_info(dtype).mlir_name);
  replace_all(text, "$R", dtype_info(real_dtype(dtype)).mlir_name);
  replace_all(text, "$1", number_of(dtype));
  return text;
}

}  // namespace systole::hlo
