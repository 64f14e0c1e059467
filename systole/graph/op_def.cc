#include "systole/graph/op_def.h"

#include <unordered_map>

#include "systole/base/suggest.h"
#include "systole/graph/lowering/constant_value.h"
#include "systole/graph/lowering/specialize.h"

namespace systole {

const OpDef& find_op_def(std::string_view name) {
  static const auto kByName = [] {
    std::unordered_map<std::string_view, const OpDef*> by_name;
    for (const OpDef* op : all_op_defs()) by_name[op->name] = op;
    return by_name;
  }();
  const auto it = kByName.find(name);
  if (it != kByName.end()) return *it->second;
  std::vector<std::string> names;
  for (const OpDef* op : all_op_defs()) names.emplace_back(op->name);
  throw not_found("op, got '{}', expected one of {} ops{}", name, names.size(),
                  did_you_mean(name, names));
}

std::optional<Tensor> InferContext::constant_input(int i) const {
  return constant_value(inputs[static_cast<size_t>(i)]);
}

std::optional<Shape> InferContext::input_as_shape(int i) const {
  const Output& value = inputs[static_cast<size_t>(i)];
  if (value.shape().rank() != 1 || !is_integer(value.dtype())) {
    throw invalid_argument("input {}, got {}, expected a vector of integers", i, value.type());
  }
  if (const auto partial = partial_value(value)) {
    Dims dims;
    for (const auto& element : partial->elements) dims.push_back(element.value_or(kUnknown));
    return Shape(std::move(dims));
  }
  const int64_t rank = value.shape()[0];
  if (rank == kUnknown) return std::nullopt;
  return Shape(Dims(static_cast<size_t>(rank), kUnknown));
}

Tensor LowerContext::constant_input(int i) const {
  if (auto value = lowering.constant_value(input(i))) return *std::move(value);
  throw invalid_argument(
      "{}: input {} must be known when the program is compiled, got '{}', expected a constant",
      node.op_name(), i, node.input(i).name());
}

std::vector<int64_t> LowerContext::constant_ints(int i) const {
  const Tensor wide = constant_input(i).cast(DType::s64);
  const auto elements = wide.data<int64_t>();
  return {elements.begin(), elements.end()};
}

Output GradientContext::grad(int i) const {
  const Output& given = output_gradients[static_cast<size_t>(i)];
  if (given.valid()) return given;
  return Graph::current().add_node("ZerosLike", {output(i)})->output();
}

}  // namespace systole
