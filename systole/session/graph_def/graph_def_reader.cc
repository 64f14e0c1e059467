#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <charconv>

#include "systole/base/counted.h"
#include "systole/base/suggest.h"
#include "systole/graph/op_def.h"
#include "systole/io/proto/graph.pb.h"
#include "systole/io/wire/tensor_message.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/session/graph_def/graph_def_attrs.h"
#include "systole/session/graph_def/imported_ops.h"

namespace systole {
namespace {

// "node", "node:2" or "^node" of an input.
struct Reference {
  std::string_view node;
  int index = 0;
  bool control = false;
};

Reference parse_reference(std::string_view text) {
  Reference reference{.node = text};
  if (text.starts_with('^')) {
    reference.node.remove_prefix(1);
    reference.control = true;
    return reference;
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return reference;
  const std::string_view digits = text.substr(colon + 1);
  int index = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) return reference;
  reference.node = text.substr(0, colon);
  reference.index = index;
  return reference;
}

// Elements that a message of another host may make of nothing: one value of a constant stands for
// all that follow it.
constexpr int64_t kMaxExpanded = int64_t{1} << 27;
// An output weighs as much as so many.
constexpr int64_t kElementsAnOutput = 64;

class Importer {
 public:
  Importer(const tensorflow::GraphDef& message, const ImportOptions& options)
      : message_(message), options_(options) {
    for (const auto& node : message.node()) nodes_.emplace(node.name(), &node);
  }

  ImportedGraph run() {
    order_nodes();
    check_ops();
    if (options_.ours) {
      for (const tensorflow::NodeDef* node : order_) check_expansion(*node);
    }
    for (const tensorflow::NodeDef* node : order_) import_node(*node);
    for (const std::string& name : options_.outputs) imported_.outputs.push_back(value(name, name));
    return std::move(imported_);
  }

 private:
  const tensorflow::NodeDef& find(std::string_view name, std::string_view user) const {
    const auto it = nodes_.find(name);
    if (it != nodes_.end()) return *it->second;
    std::vector<std::string> names;
    for (const auto& node : message_.node()) names.push_back(node.name());
    throw not_found("{}: input of '{}', got '{}', expected the name of a node{}", options_.what,
                    user, name, did_you_mean(name, names));
  }

  // Given by the caller, so that its node is not needed.
  const Output* given(const Reference& reference) const {
    const auto it = options_.inputs.find(fmt::format("{}:{}", reference.node, reference.index));
    return it == options_.inputs.end() ? nullptr : &it->second;
  }

  // Inputs before their users; without recursion, since graphs are deep.
  void order_nodes() {
    enum class State : uint8_t { open, done };
    absl::flat_hash_map<const tensorflow::NodeDef*, State> states;
    struct Frame {
      const tensorflow::NodeDef* node;
      int next = 0;
    };
    std::vector<Frame> stack;
    const auto enter = [&](const Reference& reference, std::string_view user) {
      if (!reference.control && given(reference) != nullptr) return;
      const tensorflow::NodeDef& node = find(reference.node, user);
      const auto [it, added] = states.emplace(&node, State::open);
      if (added) {
        stack.push_back({&node});
      } else if (it->second == State::open) {
        throw invalid_argument(
            "{}: node '{}', got one that needs its own result, expected no cycle", options_.what,
            node.name());
      }
    };
    for (const std::string& output : options_.outputs) {
      enter(parse_reference(output), output);
      while (!stack.empty()) {
        const tensorflow::NodeDef* node = stack.back().node;
        if (const int next = stack.back().next++; next < node->input_size()) {
          const Reference reference = parse_reference(node->input(next));
          // What orders effects has no say in values: variables are read as they are at the start.
          if (!reference.control) enter(reference, node->name());
        } else {
          states[node] = State::done;
          order_.push_back(node);
          stack.pop_back();
        }
      }
    }
  }

  void check_ops() const {
    std::map<std::string, int> unknown;
    for (const tensorflow::NodeDef* node : order_) {
      if (!can_import(node->op(), options_.ours)) ++unknown[node->op()];
    }
    if (unknown.empty()) return;
    std::string text;
    for (const auto& [op, count] : unknown) {
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", op, counted(count, "node"));
    }
    throw unimplemented("{}: ops, got {}, expected ones that this version has", options_.what,
                        text);
  }

  Output value(std::string_view name, std::string_view user) const {
    const Reference reference = parse_reference(name);
    if (const Output* output = given(reference)) return *output;
    const auto it = values_.find(reference.node);
    if (it == values_.end() || reference.index < 0 ||
        static_cast<size_t>(reference.index) >= it->second.size()) {
      throw not_found("{}: input of '{}', got '{}', expected an output of that node", options_.what,
                      user, name);
    }
    return it->second[static_cast<size_t>(reference.index)];
  }

  void expand(std::string_view what, int64_t elements) {
    if (elements <= kMaxExpanded - expanded_) {
      expanded_ += std::max<int64_t>(elements, 0);
      return;
    }
    throw make_error(Code::resource_exhausted,
                     "{}: constants and outputs, got more than {} elements that are not in the "
                     "message, expected fewer",
                     what, kMaxExpanded);
  }

  void check_expansion(const tensorflow::NodeDef& node) {
    const std::string what = fmt::format("{}: node '{}'", options_.what, node.name());
    for (const auto& [name, value] : node.attr()) {
      if (value.has_tensor() && value.tensor().tensor_content().empty()) {
        const auto shape = shape_from_message(what, value.tensor().tensor_shape());
        if (shape && shape->is_static()) expand(what, shape->num_elements());
      } else if (name == "num" || name == "num_split") {
        expand(what, std::clamp<int64_t>(value.i(), 0, kMaxExpanded) * kElementsAnOutput);
      }
    }
  }

  void import_node(const tensorflow::NodeDef& node) {
    const std::string what = fmt::format("{}: node '{}'", options_.what, node.name());
    std::vector<Output> inputs;
    for (const std::string& input : node.input()) {
      if (!parse_reference(input).control) inputs.push_back(value(input, node.name()));
    }
    try {
      values_[std::string(node.name())] = import_op({.what = what,
                                                     .op = node.op(),
                                                     .name = node.name(),
                                                     .inputs = std::move(inputs),
                                                     .attrs = attrs_from_message(what, node),
                                                     .ours = options_.ours},
                                                    imported_.variables);
    } catch (const Error& error) {
      // Elsewhere an attribute that is not there is a fault of ours.
      throw Error(error.code() == Code::internal ? Code::invalid_argument : error.code(),
                  error.message().starts_with(what) ? error.message()
                                                    : fmt::format("{}: {}", what, error.message()));
    } catch (const std::exception& error) {  // an attribute of another kind, a bad index
      throw invalid_argument("{}: {}, got attributes or inputs that it cannot have ({})", what,
                             node.op(), error.what());
    }
  }

  const tensorflow::GraphDef& message_;
  const ImportOptions& options_;
  absl::flat_hash_map<std::string_view, const tensorflow::NodeDef*> nodes_;
  std::vector<const tensorflow::NodeDef*> order_;
  std::map<std::string, std::vector<Output>, std::less<>> values_;
  ImportedGraph imported_;
  int64_t expanded_ = 0;
};

}  // namespace

ImportedGraph import_graph_def(const tensorflow::GraphDef& message, const ImportOptions& options) {
  return Importer(message, options).run();
}

}  // namespace systole
