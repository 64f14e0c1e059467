#include "systole/stablehlo/text/parsed_op.h"

namespace systole::hlo::text {

std::vector<Value> ParsedOp::values() const {
  std::vector<Value> values;
  for (const NamedValue* operand : operands) {
    values.insert(values.end(), operand->values.begin(), operand->values.end());
  }
  return values;
}

std::string_view ParsedOp::stem() const {
  const size_t dot = name.find('.');
  return dot == std::string::npos ? std::string_view(name) : std::string_view(name).substr(dot + 1);
}

}  // namespace systole::hlo::text
