#include "systole/graph/core/node_builder.h"

#include <utility>

#include "systole/graph/core/where_scope.h"

namespace systole {

DType common_dtype(InputRefs inputs) {
  DType result = DType::invalid;
  for (const Input& input : inputs) {
    const DType dtype = input.dtype();
    if (!input.weak()) return dtype;
    const bool wider = is_floating(dtype) || (dtype == DType::s64 && result == DType::s32);
    if (result == DType::invalid || wider) result = dtype;
  }
  return result;
}

Error at_line(const Error& error, SourceLocation where) {
  if (const SourceLocation outer = WhereScope::current(); outer.known()) where = outer;
  return where.known() ? error.with_context("at " + where.to_string()) : error;
}

Error at_node(const Error& error, const Node& node) {
  const std::string op = fmt::format("{}: ", node.op_name());
  const std::string& message = error.message();
  const Error named(error.code(), message.starts_with(op) ? message : op + message);
  const std::string place = node.describe();
  return message.find(place) == std::string::npos ? named.with_context(place) : named;
}

Output resolve(std::string_view op, const Input& input, DType like) {
  try {
    return input.resolve(like);
  } catch (const Error& error) {
    throw at_line(Error(error.code(), fmt::format("{}: {}", op, error.message())), input.where());
  }
}

std::vector<Output> resolve(std::string_view op, InputRefs inputs, DType like) {
  std::vector<Output> outputs;
  outputs.reserve(inputs.size());
  for (const Input& input : inputs) outputs.push_back(resolve(op, input, like));
  return outputs;
}

Output add_op(std::string_view op, InputRefs inputs, std::string_view name, AttrMap attrs) {
  const DType dtype = common_dtype(inputs);
  attrs.emplace("T", dtype);
  const Input& first = *inputs.begin();
  return Graph::current()
      .add_node(op, resolve(op, inputs, dtype), std::move(attrs), first.where(), name)
      ->output();
}

Output add_logical_op(std::string_view op, InputRefs inputs, std::string_view name) {
  const Input& first = *inputs.begin();
  return Graph::current()
      .add_node(op, resolve(op, inputs, DType::invalid), {}, first.where(), name)
      ->output();
}

}  // namespace systole
