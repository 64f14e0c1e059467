// The graph that a user's program builds: nodes of operations joined by symbolic tensors.
#pragma once

#include <concepts>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "systole/base/source_location.h"
#include "systole/base/tensor.h"
#include "systole/graph/core/attr_value.h"

namespace systole {

template <class T>
class Nest;
class Graph;
class Node;
class Variable;
struct OpDef;

// A symbolic tensor: output `index` of a node. A handle; the graph owns the node. (tf.Tensor)
class Output {
 public:
  // A place along an axis, and the line that says so.
  struct SubscriptIndex {
    SubscriptIndex(int64_t value,  // NOLINT(google-explicit-constructor)
                   std::source_location where = std::source_location::current())
        : value(value), where(where) {}

    int64_t value;
    std::source_location where;
  };

  Output() = default;
  Output(Node* node, int index)
      : node_(node), index_(index) {}  // NOLINT(google-explicit-constructor)

  bool valid() const { return node_ != nullptr; }
  Node* node() const { return node_; }
  int index() const { return index_; }
  Graph& graph() const;
  const TensorType& type() const;
  DType dtype() const { return type().dtype; }
  // Dimensions may be unknown (-1) until the program is specialised.
  const Shape& shape() const { return type().shape; }
  std::string name() const;  // "dense/MatMul:0"

  // The part at this position of the first axis, without the axis; -1 is the last one. Several axes
  // and ranges: strided_slice. Errors: INVALID_ARGUMENT for a scalar and a position that is not
  // there, as strided_slice has them.
  Output operator[](const SubscriptIndex& position) const;

  // Makes `if (x > y)` a compile error: an Output has no value while the graph is built.
  template <std::same_as<bool> Bool>
  explicit operator Bool() const {
    static_assert(
        !std::same_as<Bool, bool>,
        "a tensor of a graph has no value yet: write cond(x > y, [&] { .. }, [&] { .. }), "
        "where(x > y, a, b) or while_loop; valid() tells whether an Output is set");
    return false;
  }
  friend bool operator==(const Output&, const Output&) = default;

 private:
  Node* node_ = nullptr;
  int index_ = 0;
};

// Prints Tensor("dense/MatMul:0", f32[?,10]).
std::ostream& operator<<(std::ostream& out, const Output& output);

}  // namespace systole

template <>
struct std::hash<systole::Output> {
  size_t operator()(const systole::Output& output) const {
    return std::hash<const void*>()(output.node()) * 31 + static_cast<size_t>(output.index());
  }
};

namespace systole {

// A node that is run for its effect. (tf.Operation)
class Operation {
 public:
  Operation() = default;
  Operation(Node* node) : node_(node) {}                     // NOLINT(google-explicit-constructor)
  Operation(const Output& output) : node_(output.node()) {}  // NOLINT(google-explicit-constructor)

  bool valid() const { return node_ != nullptr; }
  Node* node() const { return node_; }
  const std::string& name() const;

  friend bool operator==(const Operation&, const Operation&) = default;

 private:
  Node* node_ = nullptr;
};

// What a Saver keeps beside the variables: the position of an input, say. (SaveableObject)
struct Saveable {
  std::string name;   // in the checkpoint: of the same thing in every process
  Output state;       // a string scalar: bytes
  Output saved;       // the placeholder of such, for
  Operation restore;  // which goes back there
};

// What op functions take: a symbolic tensor, a variable (its value), a host tensor, or a literal.
// Converting at the call captures the user's source line. A literal (1, 0.5, true) takes the dtype
// of the op's other operand, as a Python number does; alone it is s32, f32 or pred.
class Input {
 public:
  using Where = std::source_location;
  using TakesNests = void;  // Nest's own conversion would not know the user's line.
  Input(Output output, Where where = Where::current())  // NOLINT(google-explicit-constructor)
      : output_(output), where_(where) {}
  // The leaf. Errors: INVALID_ARGUMENT when it is none.
  Input(const Nest<Output>& leaf,
        Where where = Where::current());  // NOLINT(google-explicit-constructor)
  Input(const Variable& variable,
        Where where = Where::current());                // NOLINT(google-explicit-constructor)
  Input(Tensor tensor, Where where = Where::current())  // NOLINT(google-explicit-constructor)
      : constant_(std::move(tensor)), where_(where) {}
  Input(double literal, Where where = Where::current())  // NOLINT(google-explicit-constructor)
      : constant_(static_cast<float>(literal)), literal_(literal), weak_(true), where_(where) {}
  Input(float literal, Where where = Where::current())  // NOLINT(google-explicit-constructor)
      : Input(static_cast<double>(literal), where) {}
  Input(int literal, Where where = Where::current())  // NOLINT(google-explicit-constructor)
      : constant_(int32_t{literal}), literal_(literal), weak_(true), where_(where) {}
  Input(int64_t literal, Where where = Where::current())  // NOLINT(google-explicit-constructor)
      : constant_(literal), literal_(static_cast<double>(literal)), weak_(true), where_(where) {}
  Input(bool literal, Where where = Where::current())  // NOLINT(google-explicit-constructor)
      : constant_(literal), where_(where) {}
  Input(const char* text, Where where = Where::current())  // NOLINT(google-explicit-constructor)
      : constant_(text), where_(where) {}
  Input(std::string text, Where where = Where::current())  // NOLINT(google-explicit-constructor)
      : constant_(std::move(text)), where_(where) {}

  const SourceLocation& where() const { return where_; }
  bool is_output() const { return output_.valid(); }
  bool weak() const { return weak_; }
  // The number when it is a literal.
  std::optional<double> literal() const { return weak_ ? std::optional(literal_) : std::nullopt; }
  // The dtype it has or, for a literal, would have alone.
  DType dtype() const { return is_output() ? output_.dtype() : constant_.dtype(); }
  // The value of a tensor or a literal, as `resolve` would add it. REQUIRES: not is_output().
  Tensor host_value(DType like = DType::invalid) const;
  // As a symbolic tensor of the current graph; adds a Const node for a tensor or a literal. `like`
  // is the dtype that a literal takes. Errors: INVALID_ARGUMENT when a literal does not fit `like`
  // (0.5 as s32).
  Output resolve(DType like = DType::invalid) const;

 private:
  Output output_;
  Tensor constant_;
  double literal_ = 0;
  bool weak_ = false;
  SourceLocation where_;
};

// Several inputs: {a, b, 1.0f} or a vector of Outputs.
class InputList {
 public:
  InputList(std::initializer_list<Input> inputs) : inputs_(inputs) {}
  InputList(const std::vector<Output>& outputs,
            Input::Where where = Input::Where::current());  // NOLINT

  std::span<const Input> inputs() const { return inputs_; }
  // All as symbolic tensors of one dtype (that of the first that is no literal).
  std::vector<Output> resolve() const;

 private:
  std::vector<Input> inputs_;
};

// An operation in a graph. Immutable but for control inputs; owned by its graph.
class Node {
 public:
  const std::string& name() const { return name_; }
  const OpDef& op() const { return *op_; }
  std::string_view op_name() const;
  Graph& graph() const { return *graph_; }
  // Position in the graph: inputs come before their users.
  int id() const { return id_; }

  std::span<const Output> inputs() const { return inputs_; }
  Output input(int i) const { return inputs_.at(static_cast<size_t>(i)); }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  std::span<Node* const> control_inputs() const { return control_inputs_; }

  std::span<const TensorType> output_types() const { return output_types_; }
  int num_outputs() const { return static_cast<int>(output_types_.size()); }
  Output output(int i = 0) { return {this, i}; }
  std::vector<Output> outputs();

  const AttrMap& attrs() const { return attrs_; }
  // Errors: INTERNAL when there is no attribute of that name and type.
  template <class T>
  const T& attr(std::string_view name) const;
  const SourceLocation& where() const { return where_; }
  // "node 'dense/MatMul' at iris.cc:41"
  std::string describe() const;

 private:
  friend class Graph;
  std::string name_;
  const OpDef* op_ = nullptr;
  Graph* graph_ = nullptr;
  int id_ = 0;
  std::vector<Output> inputs_;
  std::vector<Node*> control_inputs_;
  std::vector<TensorType> output_types_;
  AttrMap attrs_;
  SourceLocation where_;
};

// Standard collection keys. (tf.GraphKeys)
namespace graph_keys {
inline constexpr std::string_view global_variables = "variables";
inline constexpr std::string_view local_variables = "local_variables";
inline constexpr std::string_view trainable_variables = "trainable_variables";
inline constexpr std::string_view update_ops = "update_ops";
inline constexpr std::string_view losses = "losses";
inline constexpr std::string_view regularization_losses = "regularization_losses";
inline constexpr std::string_view summaries = "summaries";
inline constexpr std::string_view global_step = "global_step";
inline constexpr std::string_view saveable_objects = "saveable_objects";
}  // namespace graph_keys

// Owns nodes. Building is not synchronised: one thread builds a graph at a time. Any number of
// sessions may run it meanwhile, from any threads, as long as nobody builds (or each build happens
// before the run that needs it).
class Graph : public std::enable_shared_from_this<Graph> {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // The graph that op functions add to: the innermost GraphScope of this thread, else one default
  // graph a process (as tf.get_default_graph).
  static Graph& current();

  // Adds a node: checks and infers through the op, makes the name unique (scope/op, scope/op_1...),
  // and adds the control dependencies in force. Inputs from an enclosing graph are captured (see
  // below). Errors: INVALID_ARGUMENT from inference, with the op, the node's name and the user's
  // line.
  Node* add_node(std::string_view op_name, std::vector<Output> inputs, AttrMap attrs = {},
                 SourceLocation where = {}, std::string_view name = {});

  std::span<const std::unique_ptr<Node>> nodes() const { return nodes_; }
  // nullptr when there is none.
  Node* find_node(std::string_view name) const;
  // "name:0" or "name". Errors: NOT_FOUND with near misses.
  Output tensor(std::string_view name) const;
  // The same under TensorFlow's names. Errors: NOT_FOUND with near misses.
  Output get_tensor_by_name(std::string_view name) const { return tensor(name); }
  Operation get_operation_by_name(std::string_view name) const { return tensor(name); }
  // Changes with every node added.
  int64_t version() const { return static_cast<int64_t>(nodes_.size()); }
  // The number of nodes added so far to the top graph and all functions in it: never the same for
  // two nodes.
  int64_t nodes_made() { return root().nodes_made_; }
  // Something that draws like a node was made, so that what is made next draws otherwise.
  void note_made() { ++root().nodes_made_; }

  // "dense" -> "dense_1" when a node or a scope has that name; registers the result.
  std::string unique_name(std::string_view base);
  // "a/b", "" at the top.
  const std::string& name_scope() const { return name_scope_; }

  // A number under a name, 0 at first: for library code that counts things of a graph.
  int64_t& counter(const std::string& name);

  // Seeds: `set_random_seed` of the current graph.
  std::optional<int64_t> seed() const { return seed_; }
  void set_seed(std::optional<int64_t> seed) { seed_ = seed; }

  // Collections: named lists in the order of adding.
  using Item = std::variant<Output, Operation, Variable, Saveable>;
  void add_to_collection(std::string_view key, Item item);
  // Items of type T (one of Item's), filtered by a prefix of their names.
  template <class T>
  std::vector<T> collection(std::string_view key, std::string_view scope = {}) const;

  // A function: a graph whose outer values are captured as further arguments.
  // The graph this one is a function of; nullptr for a top graph.
  Graph* outer() const { return outer_; }
  // The outermost graph around this one; itself when it is no function.
  Graph& root();
  static std::shared_ptr<Graph> make_function(Graph& outer);
  Output add_argument(TensorType type, std::string_view name = "arg", SourceLocation where = {});
  // `value` of this graph itself; for a value of an enclosing graph an argument that stands for it.
  Output capture(Output value);
  std::span<const Output> arguments() const { return arguments_; }  // declared, then captured
  // The outer values of the last arguments.
  std::span<const Output> captures() const { return captures_; }
  // Drops the captures whose arguments are not `needed`.
  void keep_captures(const std::unordered_set<Output>& needed);
  // Makes two functions of one graph capture the same values in the same order.
  static void share_captures(Graph& a, Graph& b);
  void set_results(std::vector<Output> results);
  std::span<const Output> results() const { return results_; }

 private:
  friend class NameScope;
  friend class ControlDependencies;
  std::string node_name(std::string_view name);

  std::vector<std::unique_ptr<Node>> nodes_;
  int64_t nodes_made_ = 0;
  std::unordered_map<std::string, Node*> by_name_;
  std::unordered_map<std::string, int> name_counts_;
  std::unordered_map<std::string, int64_t> counters_;
  std::string name_scope_;
  std::vector<std::vector<Node*>> control_scopes_;
  std::optional<int64_t> seed_;
  struct Collections;  // Variable is incomplete here
  std::unique_ptr<Collections> collections_;
  Graph* outer_ = nullptr;
  std::vector<Output> arguments_;
  std::vector<Output> captures_;
  std::vector<Output> results_;
};

// A new default graph, which threads outside of all GraphScopes build in from now on; sessions of
// the one before keep it. Errors: FAILED_PRECONDITION within a GraphScope. (tf.reset_default_graph)
void reset_default_graph();

// `with graph.as_default():` while it lives, on this thread.
class GraphScope {
 public:
  explicit GraphScope(Graph& graph);
  ~GraphScope();
  GraphScope(const GraphScope&) = delete;
  GraphScope& operator=(const GraphScope&) = delete;
};

// `with tf.name_scope(name):`. A second scope of the same name becomes name_1; a trailing "/"
// re-enters as it is;
// "" or "/" is the top.
class NameScope {
 public:
  explicit NameScope(std::string_view name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

  // "a/b/": given as a name scope it re-enters, given as a node's name it names the node "a/b".
  const std::string& name() const { return name_; }

 private:
  friend class Graph;
  NameScope(Graph& graph, std::string_view name);
  Graph& graph_;
  std::string name_;
  std::string previous_;
};

// `with tf.control_dependencies([...]):`: nodes added meanwhile run after these. nullptr lifts all
// dependencies in force.
class ControlDependencies {
 public:
  explicit ControlDependencies(const std::vector<Operation>& operations);
  explicit ControlDependencies(std::nullptr_t);
  ~ControlDependencies();
  ControlDependencies(const ControlDependencies&) = delete;
  ControlDependencies& operator=(const ControlDependencies&) = delete;

 private:
  Graph& graph_;
  std::vector<std::vector<Node*>> previous_;
};

// tf.set_random_seed: the seed of the current graph.
void set_random_seed(int64_t seed);
// The seeds that an op gets from the graph's and its own, by TensorFlow's rule: both given: both;
// the graph's alone: it and the number of nodes so far (in functions too); the op's alone: the
// default graph seed 87654321 and it; none: nullopt (a new sequence in every session).
std::optional<std::pair<int64_t, int64_t>> get_seed(std::optional<int64_t> op_seed);

template <class T>
const T& Node::attr(std::string_view name) const {
  const auto it = attrs_.find(name);
  if (it == attrs_.end() || !std::holds_alternative<T>(it->second)) {
    throw internal_error("{}: attribute '{}' is missing or of another type", describe(), name);
  }
  return std::get<T>(it->second);
}

}  // namespace systole
