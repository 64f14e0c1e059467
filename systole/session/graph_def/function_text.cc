#include "systole/session/graph_def/function_text.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "systole/session/host/host_function.h"

namespace systole {
namespace {

constexpr int64_t kMaxElements = 8;

// "Parse", "Parse:1": the first output has its node's name.
std::string name_of(const Output& output) {
  return output.index() == 0 ? output.node()->name() : output.name();
}

template <class Items, class F>
std::string joined_texts(const Items& items, const F& f) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += ", ";
    text += f(item);
  }
  return text;
}

struct AttrText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return fmt::format("\"{}\"", value); }
  std::string operator()(DType value) const { return std::string(to_string(value)); }
  std::string operator()(const Shape& value) const { return value.to_string(); }
  std::string operator()(const Tensor& value) const { return value.to_string(kMaxElements); }
  std::string operator()(const FunctionRef&) const { return "function"; }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    return "[" + joined_texts(values, [&](const T& value) { return (*this)(value); }) + "]";
  }
};

std::string attrs_of(const Node& node) {
  std::string text;
  for (const auto& [name, value] : node.attrs()) {
    const bool type_of_inputs = name == "T" || name.starts_with('_');
    if (type_of_inputs) continue;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, std::visit(AttrText(), value));
  }
  return text.empty() ? "" : " {" + text + "}";
}

std::vector<Node*> needed_nodes(std::span<const Output> args, std::span<const Output> results) {
  std::unordered_set<Output> stop(args.begin(), args.end());
  std::unordered_set<Node*> seen;
  std::vector<Node*> order;
  const auto need = [&](const Output& output) {
    if (!stop.contains(output) && seen.insert(output.node()).second) order.push_back(output.node());
  };
  for (const Output& result : results) need(result);
  for (size_t next = 0; next < order.size();) {
    for (const Output& input : order[next++]->inputs()) need(input);
  }
  std::ranges::sort(order, {}, &Node::id);
  return order;
}

}  // namespace

std::string function_text(std::span<const Output> args, std::span<const Output> results) {
  const auto typed = [](const Output& o) { return name_of(o) + ": " + o.type().to_string(); };
  const auto type = [](const Output& o) { return o.type().to_string(); };
  std::string text =
      fmt::format("({}) -> ({}) {{\n", joined_texts(args, typed), joined_texts(results, type));
  for (Node* node : needed_nodes(args, results)) {
    text += fmt::format(
        "  {} = {}({}){} : {}\n", node->name(), node->op_name(),
        joined_texts(node->inputs(), name_of), attrs_of(*node),
        joined_texts(node->output_types(), [](const TensorType& t) { return t.to_string(); }));
  }
  return text + fmt::format("  return {}\n}}\n", joined_texts(results, name_of));
}

std::string HostFunction::to_string() const { return function_text(arguments(), results()); }

}  // namespace systole
