#include <cmath>

#include "systole/base/convert.h"
#include "systole/base/nest.h"
#include "systole/graph/core/graph.h"
#include "systole/graph/core/variable.h"

namespace systole {
namespace {

// An integer literal fits when it survives the conversion.
Tensor integer_literal_as(const Tensor& literal, DType like) {
  Tensor result = literal.cast(like);
  if (is_integer(like) && result.as_double(0) != literal.as_double(0)) {
    throw invalid_argument("literal, got {}, expected a value of {}",
                           static_cast<int64_t>(literal.as_double(0)), like);
  }
  return result;
}

}  // namespace

Input::Input(const Nest<Output>& leaf, Where where) : Input(leaf.leaf(), where) {}

Input::Input(const Variable& variable, Where where) : output_(variable.value()), where_(where) {
  if (!variable.valid()) throw invalid_argument("input, got an empty Variable, expected one");
}

Tensor Input::host_value(DType like) const {
  if (!weak_ || like == DType::invalid || like == constant_.dtype()) return constant_;
  const bool fractions = is_floating(constant_.dtype());
  const bool takes_fractions = is_floating(like) || is_complex(like);
  if (!is_numeric(like) || like == DType::pred || (fractions && !takes_fractions)) {
    throw invalid_argument("literal, got {}, expected a value of {}", literal_, like);
  }
  return fractions ? Tensor::full(like, {}, literal_) : integer_literal_as(constant_, like);
}

Output Input::resolve(DType like) const {
  if (is_output()) return output_;
  Tensor value = host_value(like);
  if (!value.valid()) return {};
  const DType dtype = value.dtype();
  return Graph::current()
      .add_node("Const", {}, {{"dtype", dtype}, {"value", std::move(value)}}, where_)
      ->output();
}

InputList::InputList(const std::vector<Output>& outputs, Input::Where where) {
  inputs_.reserve(outputs.size());
  for (const Output& output : outputs) inputs_.emplace_back(output, where);
}

std::vector<Output> InputList::resolve() const {
  DType like = DType::invalid;
  for (const Input& input : inputs_) {
    if (input.weak()) continue;
    like = input.dtype();
    break;
  }
  std::vector<Output> result;
  result.reserve(inputs_.size());
  for (const Input& input : inputs_) result.push_back(input.resolve(like));
  return result;
}

}  // namespace systole
