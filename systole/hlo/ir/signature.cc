#include "systole/hlo/ir/signature.h"

#include <algorithm>

#include "systole/base/error.h"

namespace systole::hlo {

std::vector<TensorType> types_of(std::span<const Value> values) {
  std::vector<TensorType> types;
  types.reserve(values.size());
  for (const Value& value : values) types.push_back(value.type());
  return types;
}

std::vector<TensorType> parameter_types(const Computation& computation) {
  std::vector<TensorType> types;
  types.reserve(static_cast<size_t>(computation.num_parameters()));
  for (int i = 0; i < computation.num_parameters(); ++i) {
    types.push_back(computation.parameter(i).type());
  }
  return types;
}

std::vector<TensorType> result_types(const Computation& computation) {
  return types_of(computation.results());
}

std::string to_string(std::span<const TensorType> types) {
  std::string text = "(";
  for (const TensorType& type : types) {
    if (text.size() > 1) text += ", ";
    text += type.to_string();
  }
  return text + ")";
}

void check_types(std::string_view op, std::string_view what, std::span<const TensorType> got,
                 std::span<const TensorType> expected) {
  if (std::ranges::equal(got, expected)) return;
  throw invalid_argument("{}: {}, got {}, expected {}", op, what, to_string(got),
                         to_string(expected));
}

}  // namespace systole::hlo
