#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <charconv>

#include "systole/base/counted.h"
#include "systole/base/suggest.h"
#include "systole/graph/core/graph_def_node.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/proto/graph.pb.h"
#include "systole/io/saved_models/saved_model.h"
#include "systole/io/wire/message.h"
#include "systole/io/wire/tensor_message.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/session/graph_def/graph_def_attrs.h"
#include "systole/session/graph_def/importable_ops.h"
#include "systole/session/graph_def/placeholder_shape.h"

namespace systole {
namespace {

// Elements that a message may make of nothing: one value of a constant stands for all that follow
// it.
constexpr int64_t kMaxExpanded = int64_t{1} << 27;
// An output weighs as much as so many.
constexpr int64_t kElementsAnOutput = 64;
// Functions in functions.
constexpr int kMaxFunctionDepth = 100;
// A function is imported for each use. All uses together have at most so many nodes, and so many
// for each node of the message.
constexpr int64_t kMinFunctionNodes = 100'000;
constexpr int64_t kMaxUses = 64;

// "node", "node:2" or "^node" of an input; in a function "node:product:0".
struct Reference {
  std::string_view node;
  std::string_view output;  // its name, in a function
  int index = 0;
  bool control = false;
};

bool parse_index(std::string_view digits, int& index) {
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  return parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
}

Reference parse_reference(std::string_view text) {
  Reference reference{.node = text};
  if (text.starts_with('^')) {
    reference.node.remove_prefix(1);
    reference.control = true;
    return reference;
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !parse_index(text.substr(colon + 1), reference.index)) {
    return reference;
  }
  reference.node = text.substr(0, colon);
  if (const size_t name = reference.node.find(':'); name != std::string_view::npos) {
    reference.output = reference.node.substr(name + 1);
    reference.node = reference.node.substr(0, name);
  }
  return reference;
}

// Whether a name is among those of a list separated by spaces.
bool lists(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::string_view next = names.substr(0, names.find(' '));
    if (next == name) return true;
    names.remove_prefix(std::min(names.size(), next.size() + 1));
  }
  return false;
}

// What all graphs of one message share: its functions, and how much it has expanded to.
struct ImportState {
  const tensorflow::GraphDef& message;
  const ImportOptions& options;
  std::map<std::string, Variable> variables = {};
  int64_t expanded = 0;
  int64_t function_nodes = 0;
  int depth = 0;

  void expand(std::string_view what, int64_t elements) {
    if (elements <= kMaxExpanded - expanded) {
      expanded += std::max<int64_t>(elements, 0);
      return;
    }
    throw make_error(Code::resource_exhausted,
                     "{}: constants and outputs, got more than {} elements that are not in the "
                     "message, expected fewer",
                     what, kMaxExpanded);
  }

  void add_function(std::string_view what, const tensorflow::FunctionDef& function) {
    function_nodes += function.node_def_size();
    int64_t limit = kMinFunctionNodes + kMaxUses * message.node_size();
    for (const auto& each : message.library().function()) {
      limit += kMaxUses * each.node_def_size();
    }
    if (function_nodes <= limit) return;
    throw make_error(Code::resource_exhausted,
                     "{}: nodes of functions, counted for each use, got more than {} at '{}', "
                     "expected fewer",
                     what, limit, function.signature().name());
  }
};

// Imports the nodes of a graph, or of a function, into the current graph.
class NodeImporter {
 public:
  using Nodes = google::protobuf::RepeatedPtrField<tensorflow::NodeDef>;

  // `given` are tensors that stand for those of these names ("x:0"); in a function, its arguments.
  NodeImporter(ImportState& state, const Nodes& nodes, const std::map<std::string, Output>& given,
               bool whole)
      : state_(state), what_(state.options.what), list_(nodes), given_(given), whole_(whole) {
    for (const auto& node : nodes) nodes_.emplace(node.name(), &node);
  }

  // Imports what the tensors of these names need, or everything.
  void import(const std::vector<std::string>& wanted) {
    for (const std::string& output : wanted) order_from(parse_reference(output), output);
    if (whole_) {
      for (const auto& node : list_)
        order_from({.node = node.name(), .control = true}, node.name());
    }
    check_ops();
    for (const tensorflow::NodeDef* node : order_) check_expansion(*node);
    for (const tensorflow::NodeDef* node : order_) import_node(*node);
  }

  Output value(std::string_view name, std::string_view user) const {
    const Reference reference = parse_reference(name);
    if (const Output* output = given(reference)) return *output;
    const auto it = imported_.find(reference.node);
    if (it != imported_.end()) {
      const Imported& node = it->second;
      size_t index = static_cast<size_t>(reference.index);
      for (const ArgRange& range : node.ranges) {
        if (range.arg->name == reference.output) index += range.begin;
      }
      if (reference.index >= 0 && index < node.outputs.size()) return node.outputs[index];
    }
    throw not_found("{}: input of '{}', got '{}', expected an output of that node", what_, user,
                    name);
  }

 private:
  struct Imported {
    std::vector<Output> outputs;
    std::vector<ArgRange> ranges;  // of the op's signature
    Node* node = nullptr;
  };

  const tensorflow::NodeDef& find(std::string_view name, std::string_view user) const {
    const auto it = nodes_.find(name);
    if (it != nodes_.end()) return *it->second;
    std::vector<std::string> names;
    for (const auto& node : list_) names.push_back(node.name());
    throw not_found("{}: input of '{}', got '{}', expected the name of a node{}", what_, user, name,
                    did_you_mean(name, names));
  }

  // Given by the caller, so that its node is not needed.
  const Output* given(const Reference& reference) const {
    const auto it = given_.find(fmt::format("{}:{}", reference.node, reference.index));
    return it == given_.end() ? nullptr : &it->second;
  }

  // The inputs of a node, and those of the node that fills the table which this one is.
  std::vector<std::string_view> inputs_of(const tensorflow::NodeDef& node) const {
    std::vector<std::string_view> inputs(node.input().begin(), node.input().end());
    const OpDef* op = op_for_import(node);
    if (op == nullptr || op->graph_def.filled_by.empty()) return inputs;
    if (const tensorflow::NodeDef* filler = filler_of(node, *op)) {
      const auto& content = filler->input();
      for (int i = 1; i < content.size(); ++i) {
        if (!content[i].starts_with('^')) inputs.emplace_back(content[i]);
      }
    }
    return inputs;
  }

  // Null when nothing fills the table.
  const tensorflow::NodeDef* filler_of(const tensorflow::NodeDef& table, const OpDef& op) const {
    const auto it = std::ranges::find_if(list_, [&](const tensorflow::NodeDef& node) {
      return node.input_size() > 0 && lists(op.graph_def.filled_by, node.op()) &&
             parse_reference(node.input(0)).node == table.name();
    });
    return it == list_.end() ? nullptr : &*it;
  }

  // Puts inputs before their users; without recursion, since graphs are deep.
  void order_from(const Reference& wanted, std::string_view wanted_by) {
    struct Frame {
      const tensorflow::NodeDef* node;
      std::vector<std::string_view> inputs;
      size_t next = 0;
    };
    std::vector<Frame> stack;
    const auto enter = [&](const Reference& reference, std::string_view user) {
      if (given(reference) != nullptr) return;  // a control input: nothing is there to run
      const tensorflow::NodeDef& node = find(reference.node, user);
      const auto [it, added] = ordered_.emplace(&node, false);
      if (added) {
        stack.push_back({&node, inputs_of(node)});
      } else if (!it->second) {
        throw invalid_argument(
            "{}: node '{}', got one that needs its own result, expected no cycle", what_,
            node.name());
      }
    };
    enter(wanted, wanted_by);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const tensorflow::NodeDef* node = frame.node;
      if (frame.next < frame.inputs.size()) {
        const Reference reference = parse_reference(frame.inputs[frame.next++]);
        // Control inputs order effects. The values of some outputs need none: variables are read as
        // they are at the start of a run.
        if (!reference.control || whole_) enter(reference, node->name());
      } else {
        ordered_[node] = true;
        order_.push_back(node);
        stack.pop_back();
      }
    }
  }

  void check_ops() const {
    std::map<std::string, int> refused;
    for (const tensorflow::NodeDef* node : order_) {
      const OpDef* op = op_for_import(*node);
      if (op == nullptr) ++refused[node->op()];
      if (op != nullptr && !op->graph_def.impossible.empty()) {
        throw unimplemented("{}: node '{}', got {}, which no file can hold: {}", what_,
                            node->name(), node->op(), op->graph_def.impossible);
      }
    }
    if (refused.empty()) return;
    std::string text;
    for (const auto& [op, count] : refused) {
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", op, counted(count, "node"));
    }
    throw unimplemented("{}: ops, got {}, expected ones that this version has", what_, text);
  }

  void check_expansion(const tensorflow::NodeDef& node) {
    const std::string what = fmt::format("{}: node '{}'", what_, node.name());
    for (const auto& [name, value] : node.attr()) {
      if (value.has_tensor() && value.tensor().tensor_content().empty()) {
        const auto shape = shape_from_message(what, value.tensor().tensor_shape());
        if (shape && shape->is_static()) state_.expand(what, shape->num_elements());
      } else if (name == "num" || name == "num_split") {
        state_.expand(what, std::clamp<int64_t>(value.i(), 0, kMaxExpanded) * kElementsAnOutput);
      }
    }
  }

  void import_node(const tensorflow::NodeDef& node) {
    const std::string what = fmt::format("{}: node '{}'", what_, node.name());
    try {
      imported_[node.name()] = import_checked(what, node);
    } catch (const Error& error) {
      // Elsewhere an attribute that is not there is a fault of ours.
      throw Error(error.code() == Code::internal ? Code::invalid_argument : error.code(),
                  at_import(error.message(), node.name()));
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {  // an attribute of another kind, a bad index
      throw invalid_argument("{}: {}, got attributes or inputs that it cannot have ({})", what,
                             node.op(), error.what());
    }
  }

  // The message after the file and the node, each unless it has it.
  std::string at_import(const std::string& message, const std::string& node) const {
    if (message.starts_with(what_)) return message;
    const std::string place = fmt::format("node '{}'", node);
    return message.find(place) == std::string::npos
               ? fmt::format("{}: {}: {}", what_, place, message)
               : fmt::format("{}: {}", what_, message);
  }

  Imported import_checked(const std::string& what, const tensorflow::NodeDef& node) {
    const OpDef& op = *op_for_import(node);
    const OpSignature& signature = signature_of(op);
    ImportContext context{.op = op,
                          .name = node.name(),
                          .inputs = {},
                          .attrs = attrs_from_message(what, signature, node),
                          .whole_graph = whole_,
                          .variables = &state_.variables};
    if (!state_.options.allow_files) context.files = state_.options.asset_folder;
    std::vector<Operation> controls;
    for (const std::string& input : node.input()) {
      const Reference reference = parse_reference(input);
      if (!reference.control) {
        context.inputs.push_back(value(input, node.name()));
      } else if (whole_) {
        const auto it = imported_.find(reference.node);
        if (it != imported_.end() && it->second.node != nullptr) {
          controls.emplace_back(it->second.node);
        }
      }
    }
    if (!op.graph_def.filled_by.empty()) add_content(what, node, signature, context);
    if (op.name == "Placeholder") complete_shape(what, node, context.attrs);
    if (op.traits.draws_random) context.attrs.try_emplace("_stream", Graph::current().nodes_made());
    context.function = [&](std::string_view attr, std::span<const Output> declared,
                           std::span<const Output> captured) {
      return import_function(what, node, attr, declared, captured);
    };
    const ControlDependencies after(controls);
    Imported imported;
    if (op.graph_def.import_node != nullptr) {
      imported.outputs = op.graph_def.import_node(context);
    } else {
      check_arity(what, signature, context);
      check_required_attrs(what, signature, context.attrs);
      imported.outputs = context.add(context.inputs, context.attrs);
    }
    imported.ranges = divide_among(signature.outputs, context.attrs, imported.outputs.size());
    if (!imported.outputs.empty()) {
      imported.node = imported.outputs[0].node();
    } else if (!Graph::current().nodes().empty()) {
      imported.node = Graph::current().nodes().back().get();
    }
    return imported;
  }

  // Gives a placeholder that declares no shape the rank that its users need.
  void complete_shape(const std::string& what, const tensorflow::NodeDef& node,
                      AttrMap& attrs) const {
    attrs.erase("shape");
    const int producer = state_.message.versions().producer();
    if (auto shape = declared_shape(what, node, producer)) {
      attrs.emplace("shape", *std::move(shape));
    } else if (const auto rank = rank_from_users(node, list_)) {
      attrs.emplace("shape", Shape(Dims(static_cast<size_t>(*rank), kUnknown)));
    }
  }

  // Notes what fills a table.
  void add_content(const std::string& what, const tensorflow::NodeDef& node,
                   const OpSignature& signature, ImportContext& context) const {
    const tensorflow::NodeDef* filler = filler_of(node, context.op);
    if (filler == nullptr) {
      throw unimplemented("{}: content of a table, got none, expected one of {}", what,
                          context.op.graph_def.filled_by);
    }
    for (int i = 1; i < filler->input_size(); ++i) {
      if (filler->input(i).starts_with('^')) continue;
      context.inputs.push_back(value(filler->input(i), filler->name()));
    }
    for (auto& [name, content] : attrs_from_message(what, signature, *filler)) {
      if (filler->attr().contains(name)) context.attrs[name] = content;
    }
    context.attrs["_initializer"] = filler->name();
  }

  static void check_arity(const std::string& what, const OpSignature& signature,
                          const ImportContext& context) {
    const auto least = static_cast<size_t>(signature.min_inputs());
    const size_t got = context.inputs.size();
    if (got == least || (got > least && signature.takes_more())) return;
    throw invalid_argument("{}: inputs of {}, got {}, expected {}{}", what, context.op.name, got,
                           least, signature.takes_more() ? " or more" : "");
  }

  std::shared_ptr<Graph> import_function(const std::string& what, const tensorflow::NodeDef& node,
                                         std::string_view attr, std::span<const Output> declared,
                                         std::span<const Output> captured) {
    const auto given = node.attr().find(std::string(attr));
    const std::string name =
        given == node.attr().end() ? std::string() : given->second.func().name();
    const auto& library = state_.message.library().function();
    const auto it = std::ranges::find_if(
        library, [&](const auto& function) { return function.signature().name() == name; });
    if (it == library.end()) {
      throw not_found("{}: function '{}' of attribute '{}', got none, expected it in the library",
                      what, name, attr);
    }
    if (state_.depth >= kMaxFunctionDepth) {
      throw invalid_argument("{}: function '{}', got one in {} others, expected fewer", what, name,
                             state_.depth);
    }
    const auto& args = it->signature().input_arg();
    if (static_cast<size_t>(args.size()) != declared.size() + captured.size()) {
      throw invalid_argument("{}: arguments of function '{}', got {}, expected {}", what, name,
                             args.size(), declared.size() + captured.size());
    }
    state_.add_function(what, *it);
    ++state_.depth;
    auto function = build_function(*it, declared, captured);
    --state_.depth;
    return function;
  }

  std::shared_ptr<Graph> build_function(const tensorflow::FunctionDef& message,
                                        std::span<const Output> declared,
                                        std::span<const Output> captured) {
    auto function = Graph::make_function(Graph::current());
    const GraphScope scope(*function);
    std::map<std::string, Output> arguments;
    const auto& args = message.signature().input_arg();
    int next = 0;
    for (const Output& value : declared) {
      const std::string& name = args[next++].name();
      arguments[name + ":0"] = function->add_argument(value.type(), name);
    }
    for (const Output& value : captured) {
      arguments[args[next++].name() + ":0"] = function->capture(value);
    }
    NodeImporter importer(state_, message.node_def(), arguments, whole_);
    std::vector<std::string> names;
    for (const auto& result : message.signature().output_arg()) {
      const auto it = message.ret().find(result.name());
      if (it == message.ret().end()) {
        throw invalid_argument("{}: function '{}', got no value of result '{}', expected one",
                               what_, message.signature().name(), result.name());
      }
      names.push_back(it->second);
    }
    importer.import(names);
    std::vector<Output> results;
    for (const std::string& name : names) {
      results.push_back(importer.value(name, message.signature().name()));
    }
    function->set_results(std::move(results));
    return function;
  }

  ImportState& state_;
  const std::string& what_;
  const Nodes& list_;
  const std::map<std::string, Output>& given_;
  const bool whole_;
  absl::flat_hash_map<std::string_view, const tensorflow::NodeDef*> nodes_;
  absl::flat_hash_map<const tensorflow::NodeDef*, bool> ordered_;  // true: done
  std::vector<const tensorflow::NodeDef*> order_;
  std::map<std::string, Imported, std::less<>> imported_;
};

// Finds the variables that the nodes of a whole graph make up, where one node reads and another
// sets them.
void find_variables(const Graph& graph, size_t first_node, ImportedGraph& imported) {
  std::map<const Node*, std::pair<Output, Operation>> found;  // value, initializer
  const auto nodes = graph.nodes().subspan(first_node);
  for (const auto& node : nodes) {
    if (node->num_inputs() == 0 || node->input(0).dtype() != DType::resource) continue;
    auto& [value, initializer] = found[node->input(0).node()];
    if (node->op_name() == "ReadVariableOp" && !value.valid() && node->attr<bool>("_snapshot")) {
      value = node->output();
    }
    if (node->op_name() == "AssignVariableOp" && !initializer.valid()) initializer = node.get();
  }
  for (const auto& node : nodes) {
    const auto it = found.find(node.get());
    if (node->op_name() != "VarHandleOp" || it == found.end()) continue;
    const auto& [value, initializer] = it->second;
    if (!value.valid() || !initializer.valid()) continue;
    imported.variables.emplace(node->name(),
                               Variable::of_nodes(node->output(), value, initializer));
  }
}

// What stands for a placeholder must be what it declares: its users may be told nothing else.
void check_inputs(const tensorflow::GraphDef& message, const ImportOptions& options) {
  for (const auto& node : message.node()) {
    if (node.op() != "Placeholder" && node.op() != "PlaceholderWithDefault") continue;
    const auto it = options.inputs.find(node.name() + ":0");
    if (it == options.inputs.end()) continue;
    const std::string what = fmt::format("{}: node '{}'", options.what, node.name());
    const auto shape = declared_shape(what, node, message.versions().producer());
    const TensorType& got = it->second.type();
    const auto attr = node.attr().find("dtype");
    const DType dtype =
        attr == node.attr().end() ? got.dtype : dtype_from_message(attr->second.type());
    if (got.dtype == dtype && (!shape || got.shape.compatible_with(*shape))) continue;
    throw invalid_argument("{}: input that stands for a placeholder, got {}, expected {}{}", what,
                           got, dtype, shape ? shape->to_string() : " of any shape");
  }
}

}  // namespace

ImportedGraph import_graph_def(const tensorflow::GraphDef& message, const ImportOptions& options) {
  check_inputs(message, options);
  ImportState state{message, options};
  const bool whole = options.outputs.empty();
  const Graph& graph = Graph::current();
  const size_t nodes_before = graph.nodes().size();
  NodeImporter importer(state, message.node(), options.inputs, whole);
  importer.import(options.outputs);
  ImportedGraph imported;
  for (const std::string& name : options.outputs) {
    imported.outputs.push_back(importer.value(name, name));
  }
  imported.variables = std::move(state.variables);
  if (whole) find_variables(graph, nodes_before, imported);
  return imported;
}

ImportedGraph import_graph_def(std::string_view bytes, const ImportOptions& options) {
  tensorflow::GraphDef message;
  parse_message(options.what, bytes, message);
  return import_graph_def(message, options);
}

ImportedGraph import_graph_def_file(const std::string& path, ImportOptions options) {
  options.what = path;
  return import_graph_def(*read_graph_def(default_file_system(), path), options);
}

}  // namespace systole
