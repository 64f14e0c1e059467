#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "systole/graph/core/graph_def_node.h"
#include "systole/graph/core/op_signature.h"
#include "systole/graph/lowering/loop_lowering.h"
#include "systole/graph/lowering/plan.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/proto/graph.pb.h"
#include "systole/io/wire/message.h"
#include "systole/io/wire/tensor_message.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/session/graph_def/graph_def_attrs.h"
#include "systole/session/graph_def/importable_ops.h"

namespace systole {
namespace {

// The version of TensorFlow's graphs that our ops are those of (1.15).
constexpr int kProducer = 134;
constexpr int kMinConsumer = 12;

std::vector<const Node*> nodes_needed(const Graph& graph, std::span<const Operation> wanted) {
  std::vector<const Node*> nodes;
  if (wanted.empty()) {
    for (const auto& node : graph.nodes()) nodes.push_back(node.get());
    return nodes;
  }
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> pending;
  const auto visit = [&](const Node* node) {
    if (seen.insert(node).second) pending.push_back(node);
  };
  for (const Operation& operation : wanted) visit(operation.node());
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    nodes.push_back(node);
    for (const Output& input : node->inputs()) visit(input.node());
    for (const Node* control : node->control_inputs()) visit(control);
  }
  std::ranges::sort(nodes, {}, &Node::id);
  return nodes;
}

// How records refer to tensors: "x:1" in a graph, "x:product:0" in a function.
struct References {
  std::set<const Node*> arguments = {};  // of the function
  bool in_function = false;

  std::string operator()(const Output& value) const {
    const Node& node = *value.node();
    if (arguments.contains(&node)) return node.name();
    if (in_function) {
      return fmt::format("{}:{}", node.name(), name_in_function(node, value.index()));
    }
    return value.index() == 0 ? node.name() : value.name();
  }
  std::string record(std::string_view name, std::string_view output) const {
    return in_function ? fmt::format("{}:{}:0", name, output) : std::string(name);
  }
};

ExportContext export_context(const Node& node, const References& references) {
  return {.node = node,
          .reference = [&references](const Output& value) { return references(value); },
          .reference_record =
              [&references](std::string_view name, std::string_view output) {
                return references.record(name, output);
              }};
}

class Writer {
 public:
  explicit Writer(tensorflow::GraphDef& message) : message_(message) {}

  void write(std::span<const Node* const> nodes) {
    const References references;
    std::set<std::string> written;
    for (const Node* node : nodes) {
      write_node(*node, references, written, [&] { return message_.add_node(); });
    }
    message_.mutable_versions()->set_producer(kProducer);
    message_.mutable_versions()->set_min_consumer(kMinConsumer);
  }

  std::vector<std::string>& initializers() { return initializers_; }
  std::map<std::string, std::string>& assets() { return assets_; }

 private:
  template <class AddNode>
  void write_node(const Node& node, const References& references, std::set<std::string>& written,
                  const AddNode& add_node) {
    ExportContext context = export_context(node, references);
    if (node.op().graph_def.export_node != nullptr) {
      node.op().graph_def.export_node(context);
    } else {
      context.records.push_back(plain_record(node, context));
    }
    for (const NodeRecord& record : context.records) {
      if (!written.insert(record.name).second) continue;
      tensorflow::NodeDef to;
      write_record(node, record, to);
      if (&record == &context.records.back()) {
        for (const Node* control : node.control_inputs()) *to.add_input() = "^" + control->name();
      }
      add_node()->Swap(&to);
    }
    for (const std::string& name : context.initializers) {
      if (std::ranges::find(initializers_, name) == initializers_.end()) {
        initializers_.push_back(name);
      }
    }
    assets_.insert(context.assets.begin(), context.assets.end());
  }

  // TensorFlow refuses attributes that an op does not have, but for those that begin with '_'.
  static NodeRecord plain_record(const Node& node, const ExportContext& context) {
    const OpSignature& signature = signature_of(node.op());
    AttrMap attrs;
    for (const auto& [name, value] : node.attrs()) {
      if (name == kFilesAttr) continue;
      if (name.starts_with('_') || signature.find(name) != nullptr) attrs.emplace(name, value);
    }
    attrs.merge(implied_attrs(node));
    if (node.op().graph_def.tensorflow == TensorFlowOp::other) attrs.emplace(kMarkOfOurs, true);
    return {std::string(node.op_name()), node.name(), context.inputs(), std::move(attrs)};
  }

  void write_record(const Node& node, const NodeRecord& record, tensorflow::NodeDef& to) {
    to.set_name(record.name);
    to.set_op(record.op);
    for (const std::string& input : record.inputs) to.add_input(input);
    const OpDef* op = find_op_or_null(record.op);
    const OpSignature* signature = op == nullptr ? nullptr : &signature_of(*op);
    for (const auto& [name, value] : record.attrs) {
      const SignatureAttr* declared = signature == nullptr ? nullptr : signature->find(name);
      if (const auto* function = std::get_if<FunctionRef>(&value)) {
        // A function that no attribute of the op names is one of the program's.
        if (declared == nullptr) continue;
        (*to.mutable_attr())[name].mutable_func()->set_name(function_name(node, name, *function));
      } else {
        attr_to_message(value, declared, (*to.mutable_attr())[name]);
      }
    }
  }

  std::string function_name(const Node& node, const std::string& attr,
                            const FunctionRef& function) {
    if (const auto it = functions_.find(function.get()); it != functions_.end()) return it->second;
    std::string name = fmt::format("{}_{}", node.name(), attr);
    std::ranges::replace(name, '/', '_');
    if (const int repeated = names_[name]++; repeated > 0) name += fmt::format("_{}", repeated);
    functions_[function.get()] = name;
    write_function(name, *function);
    return name;
  }

  void write_function(const std::string& name, const Graph& function) {
    tensorflow::FunctionDef to;  // functions inside are added to the library meanwhile
    auto& signature = *to.mutable_signature();
    signature.set_name(name);
    References references{.in_function = true};
    std::set<std::string> written;
    const auto add_arg = [](tensorflow::OpDef::ArgDef& arg, const std::string& arg_name,
                            DType dtype) {
      arg.set_name(arg_name);
      arg.set_type(static_cast<tensorflow::DataType>(dtype_to_message(dtype)));
    };
    for (const Output& argument : function.arguments()) {
      references.arguments.insert(argument.node());
      add_arg(*signature.add_input_arg(), argument.node()->name(), argument.dtype());
    }
    for (size_t i = 0; i < function.results().size(); ++i) {
      const Output& result = function.results()[i];
      const std::string result_name = fmt::format("result_{}", i);
      add_arg(*signature.add_output_arg(), result_name, result.dtype());
      (*to.mutable_ret())[result_name] = references(result);
    }
    // Nodes that nothing needs may use captures that were dropped.
    for (const Node* node : plan_function(function).order) {
      if (node->op_name() == "_Arg") continue;
      write_node(*node, references, written, [&] { return to.add_node_def(); });
    }
    message_.mutable_library()->add_function()->Swap(&to);
  }

  tensorflow::GraphDef& message_;
  std::unordered_map<const Graph*, std::string> functions_;
  std::unordered_map<std::string, int> names_;
  std::vector<std::string> initializers_;
  std::map<std::string, std::string> assets_;
};

}  // namespace

std::unique_ptr<tensorflow::GraphDef> to_graph_def(const Graph& graph,
                                                   std::span<const Operation> wanted) {
  return export_graph_def(graph, wanted).message;
}

ExportedGraph::ExportedGraph() : message(std::make_unique<tensorflow::GraphDef>()) {}
ExportedGraph::~ExportedGraph() = default;
ExportedGraph::ExportedGraph(ExportedGraph&&) noexcept = default;

ExportedGraph export_graph_def(const Graph& graph, std::span<const Operation> wanted) {
  ExportedGraph exported;
  Writer writer(*exported.message);
  writer.write(nodes_needed(graph, wanted));
  exported.initializers = std::move(writer.initializers());
  exported.assets = std::move(writer.assets());
  return exported;
}

std::string graph_def_bytes(const Graph& graph, std::span<const Operation> wanted) {
  return serialize_message(*to_graph_def(graph, wanted));
}

void write_graph_def(const Graph& graph, const std::string& path,
                     std::span<const Operation> wanted) {
  const auto message = to_graph_def(graph, wanted);
  write_file_atomically(
      default_file_system(), path,
      path.ends_with(".pbtxt") ? print_message_text(*message) : serialize_message(*message));
}

namespace {

// Looks for what TensorFlow does not have in nodes and in the functions that they run.
class UnknownOps {
 public:
  void look_at(const Node& node) {
    if (!is_in_tensorflow(node)) found_.emplace(node.op_name());
    for (const Output& input : node.inputs()) look_at(input);
    for (const auto& [name, value] : node.attrs()) {
      if (name.starts_with('_')) continue;  // functions that only we run
      if (const auto* function = std::get_if<FunctionRef>(&value)) look_at(**function);
    }
  }
  // TensorFlow's While has the variables' last values as outputs, and nothing else.
  void look_at(const Output& used) {
    const Node& node = *used.node();
    if (node.op_name() != "While" || used.index() < node.num_inputs()) return;
    const bool kept = used.index() >= WhileOutputs{node.num_inputs()}.history(0);
    found_.emplace(kept ? "While with kept states (scan, dynamic_rnn): static_rnn can be exported"
                        : "While with its number of iterations");
  }
  std::vector<std::string> found() const { return {found_.begin(), found_.end()}; }

 private:
  static bool is_in_tensorflow(const Node& node) {
    // An argument stands in the signature of its function.
    if (node.op().graph_def.tensorflow != TensorFlowOp::same) return node.op_name() == "_Arg";
    if (node.op().graph_def.export_node == nullptr) return true;
    const References references;
    ExportContext context = export_context(node, references);
    node.op().graph_def.export_node(context);
    return context.in_tensorflow;
  }

  void look_at(const Graph& function) {
    if (!seen_.insert(&function).second) return;
    for (const Node* node : plan_function(function).order) look_at(*node);
    for (const Output& result : function.results()) look_at(result);
  }

  std::set<std::string> found_;
  std::unordered_set<const Graph*> seen_;
};

}  // namespace

std::vector<std::string> ops_unknown_to_tensorflow(const Graph& graph,
                                                   std::span<const Operation> wanted,
                                                   std::span<const Output> results) {
  UnknownOps unknown;
  for (const Node* node : nodes_needed(graph, wanted)) unknown.look_at(*node);
  for (const Output& result : results) unknown.look_at(result);
  return unknown.found();
}

}  // namespace systole
