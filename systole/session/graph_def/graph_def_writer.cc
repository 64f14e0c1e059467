#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "systole/graph/lowering/loop_lowering.h"
#include "systole/graph/op_def.h"
#include "systole/graph/ops/parsing/example_schema.h"
#include "systole/io/proto/graph.pb.h"
#include "systole/io/wire/message.h"
#include "systole/io/wire/tensor_message.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/session/graph_def/graph_def_attrs.h"
#include "systole/session/host/print_text.h"

namespace systole {
namespace {

// The version of TensorFlow's graphs that our ops are those of (1.15).
constexpr int kProducer = 134;
constexpr int kMinConsumer = 12;

constexpr std::array<std::string_view, 5> kOursAlone = {"SumToShape", "GatherGrad", "_ReadHistory",
                                                        "_WriteHistory", "PyFunc"};

// Names of the outputs of ops in functions, where an input reads "node:name:index".
std::string_view output_name(const Node& node, int index) {
  struct Row {
    std::string_view op;
    std::array<std::string_view, 2> names;
  };
  static constexpr Row kRows[] = {{"MatMul", {"product"}},
                                  {"Relu", {"activations"}},
                                  {"ReadVariableOp", {"value"}},
                                  {"AddN", {"sum"}},
                                  {"TopKV2", {"values", "indices"}},
                                  {"Softmax", {"softmax"}},
                                  {"LogSoftmax", {"logsoftmax"}},
                                  {"Cumsum", {"out"}},
                                  {"VarHandleOp", {"resource"}},
                                  {"SoftmaxCrossEntropyWithLogits", {"loss", "backprop"}},
                                  {"SparseSoftmaxCrossEntropyWithLogits", {"loss", "backprop"}}};
  static constexpr std::string_view kNamedZ[] = {"Add",
                                                 "Sub",
                                                 "Mul",
                                                 "RealDiv",
                                                 "Maximum",
                                                 "Minimum",
                                                 "Less",
                                                 "LessEqual",
                                                 "Greater",
                                                 "GreaterEqual",
                                                 "Equal",
                                                 "NotEqual",
                                                 "Pow",
                                                 "LogicalAnd",
                                                 "FloorDiv",
                                                 "LogicalOr",
                                                 "SquaredDifference",
                                                 "FloorMod"};
  static constexpr std::string_view kNamedY[] = {
      "Neg",       "Exp",      "Log",  "Sqrt",  "Rsqrt",     "Square",
      "Tanh",      "Sigmoid",  "Abs",  "Floor", "Ceil",      "Round",
      "Transpose", "OnesLike", "Cast", "Sign",  "ZerosLike", "LogicalNot"};
  for (const Row& row : kRows) {
    if (row.op == node.op_name()) return row.names[static_cast<size_t>(index != 0)];
  }
  if (std::ranges::find(kNamedZ, node.op_name()) != std::end(kNamedZ)) return "z";
  if (std::ranges::find(kNamedY, node.op_name()) != std::end(kNamedY)) return "y";
  return "output";
}

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

// Features of any number of values are two tensors of ours, and three of TensorFlow's.
bool parses_dense_features(const Node& node) { return ExampleSchema(node.attrs()).sparse.empty(); }

// Functions that only we run: TensorFlow would miss nothing.
bool is_ours_alone(const std::string& attr_name, const AttrValue& value) {
  return attr_name.starts_with('_') && std::holds_alternative<FunctionRef>(value);
}

class Writer {
 public:
  explicit Writer(tensorflow::GraphDef& message) : message_(message) {}

  void write(std::span<const Node* const> nodes) {
    for (const Node* node : nodes) {
      if (node->op_name() == "ParseExample" && parses_dense_features(*node)) {
        write_parse_example(*node);
        continue;
      }
      tensorflow::NodeDef& to = *message_.add_node();
      for (const Output& input : node->inputs()) {
        to.add_input(input.index() == 0 ? input.node()->name() : input.name());
      }
      write_node(*node, to);
    }
    message_.mutable_versions()->set_producer(kProducer);
    message_.mutable_versions()->set_min_consumer(kMinConsumer);
  }

 private:
  void write_node(const Node& node, tensorflow::NodeDef& to) {
    to.set_name(node.name());
    to.set_op(std::string(node.op_name()));
    // TensorFlow's has values to show, one at least.
    if (node.op_name() == "Assert") to.add_input(std::string(to.input(0)));
    for (const Node* control : node.control_inputs()) to.add_input("^" + control->name());
    for (const auto& [name, value] : node.attrs()) {
      if (is_ours_alone(name, value)) continue;
      tensorflow::AttrValue& attr = (*to.mutable_attr())[name];
      if (const auto* function = std::get_if<FunctionRef>(&value)) {
        attr.mutable_func()->set_name(function_name(node, name, *function));
      } else {
        attr_to_message(value, attr);
      }
    }
    add_required_attrs(node, to);
    if (node.op_name() == "If") write_types(node.inputs().subspan(1), node, "Tin", "Tout", to);
    const bool types_of_all = node.op_name() == "While" || node.op_name() == "IdentityN" ||
                              node.op_name() == "Assert";  // shows its condition
    if (types_of_all) write_types(node.inputs(), node, "T", "", to);
    if (node.op_name() == "Print") write_types(printed_data(node), node, "U", "", to);
    if (node.op_name() == "If") {
      attr_to_message(node.input(0).dtype(), (*to.mutable_attr())["Tcond"]);
    }
  }

  std::string write_strings(const std::string& name, const Tensor& value) {
    tensorflow::NodeDef& to = *message_.add_node();
    to.set_name(name);
    to.set_op("Const");
    attr_to_message(DType::string, (*to.mutable_attr())["dtype"]);
    attr_to_message(value, (*to.mutable_attr())["value"]);
    return name;
  }

  // TensorFlow's has the names of records and the keys as inputs, ours as attributes.
  void write_parse_example(const Node& node) {
    const ExampleSchema schema(node.attrs());
    tensorflow::NodeDef to;
    to.set_name(node.name());
    to.set_op("ParseExample");
    auto& attrs = *to.mutable_attr();
    attr_to_message(int64_t{0}, attrs["Nsparse"]);
    attr_to_message(static_cast<int64_t>(schema.dense.size()), attrs["Ndense"]);
    attrs["sparse_types"].mutable_list();
    to.add_input(node.input(0).name());
    to.add_input(write_strings(node.name() + "/names", Tensor::zeros(DType::string, {0})));
    // Only a function that is saved has it.
    const AttrMap ours = schema.attrs();
    if (const auto raw = ours.find("_raw_types"); raw != ours.end()) {
      attr_to_message(raw->second, attrs["_raw_types"]);
    }
    for (const ExampleSchema::Dense& feature : schema.dense) {
      to.add_input(write_strings(fmt::format("{}/dense_keys_{}", node.name(), to.input_size() - 2),
                                 Tensor(feature.key.c_str())));
      attrs["Tdense"].mutable_list()->add_type(
          static_cast<tensorflow::DataType>(dtype_to_message(feature.dtype)));
      Dims dims(feature.shape.begin(), feature.shape.end());
      if (feature.variable) dims.insert(dims.begin(), kUnknown);
      shape_to_message(Shape(std::move(dims)), *attrs["dense_shapes"].mutable_list()->add_shape());
    }
    for (const Output& value : node.inputs().subspan(1)) to.add_input(value.name());
    for (const Node* control : node.control_inputs()) to.add_input("^" + control->name());
    message_.add_node()->Swap(&to);
  }

  static void write_types(std::span<const Output> inputs, const Node& node, const char* in,
                          std::string_view out, tensorflow::NodeDef& to) {
    auto* list = (*to.mutable_attr())[in].mutable_list();
    for (const Output& input : inputs) {
      list->add_type(static_cast<tensorflow::DataType>(dtype_to_message(input.dtype())));
    }
    if (out.empty()) return;
    auto* results = (*to.mutable_attr())[std::string(out)].mutable_list();
    for (const TensorType& type : node.output_types()) {
      results->add_type(static_cast<tensorflow::DataType>(dtype_to_message(type.dtype)));
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

  // In a function, a value is an argument's name or "node:output:index".
  static std::string value_name(const Output& value, const std::set<const Node*>& arguments) {
    const Node& node = *value.node();
    if (arguments.contains(&node)) return node.name();
    const std::string_view output = output_name(node, value.index());
    return fmt::format("{}:{}:{}", node.name(), output, output == "output" ? value.index() : 0);
  }

  void write_function(const std::string& name, const Graph& function) {
    tensorflow::FunctionDef to;  // functions inside are added to the library meanwhile
    auto& signature = *to.mutable_signature();
    signature.set_name(name);
    std::set<const Node*> arguments;
    const auto add_arg = [](tensorflow::OpDef::ArgDef& arg, const std::string& arg_name,
                            DType dtype) {
      arg.set_name(arg_name);
      arg.set_type(static_cast<tensorflow::DataType>(dtype_to_message(dtype)));
    };
    for (const Output& argument : function.arguments()) {
      arguments.insert(argument.node());
      add_arg(*signature.add_input_arg(), argument.node()->name(), argument.dtype());
    }
    for (size_t i = 0; i < function.results().size(); ++i) {
      const Output& result = function.results()[i];
      const std::string result_name = fmt::format("result_{}", i);
      add_arg(*signature.add_output_arg(), result_name, result.dtype());
      (*to.mutable_ret())[result_name] = value_name(result, arguments);
    }
    for (const auto& node : function.nodes()) {
      if (node->op_name() == "_Arg") continue;
      tensorflow::NodeDef& node_message = *to.add_node_def();
      for (const Output& input : node->inputs()) {
        node_message.add_input(value_name(input, arguments));
      }
      write_node(*node, node_message);
    }
    message_.mutable_library()->add_function()->Swap(&to);
  }

  tensorflow::GraphDef& message_;
  std::unordered_map<const Graph*, std::string> functions_;
  std::unordered_map<std::string, int> names_;
};

}  // namespace

std::unique_ptr<tensorflow::GraphDef> to_graph_def(const Graph& graph,
                                                   std::span<const Operation> wanted) {
  auto message = std::make_unique<tensorflow::GraphDef>();
  Writer(*message).write(nodes_needed(graph, wanted));
  return message;
}

std::string graph_def_bytes(const Graph& graph) { return serialize_message(*to_graph_def(graph)); }

namespace {

// Looks for what TensorFlow does not have in nodes and in the functions that they run.
class UnknownOps {
 public:
  void look_at(const Node& node) {
    const bool sparse = node.op_name() == "ParseExample" && !parses_dense_features(node);
    if (sparse || std::ranges::find(kOursAlone, node.op_name()) != kOursAlone.end()) {
      found_.emplace(node.op_name());
    }
    for (const Output& input : node.inputs()) look_at(input);
    for (const auto& [name, value] : node.attrs()) {
      if (is_ours_alone(name, value)) continue;
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
  void look_at(const Graph& function) {
    if (!seen_.insert(&function).second) return;
    for (const auto& node : function.nodes()) look_at(*node);
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
