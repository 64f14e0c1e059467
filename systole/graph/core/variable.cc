#include "systole/graph/core/variable.h"

#include "systole/graph/core/where_scope.h"

namespace systole {
namespace {

Node* add_assignment(std::string_view op, const Output& handle, const Output& value,
                     SourceLocation where, std::string_view name) {
  return Graph::current().add_node(op, {handle, value}, {{"dtype", value.dtype()}}, where, name);
}

}  // namespace

// The storage belongs to the top graph, outside the control dependencies in force, as in
// TensorFlow: a variable made in a branch or after an operation must not be initialised by running
// that.
Variable::Variable(const Input& initial_value, const VariableOptions& options) {
  const WhereScope where(initial_value.where());
  Graph& graph = Graph::current().root();
  const GraphScope graph_scope(graph);
  const ControlDependencies lifted(nullptr);
  const NameScope scope(options.name);
  initial_value_ = initial_value.resolve(options.dtype);
  const TensorType& type = initial_value_.type();
  if (options.dtype != DType::invalid && type.dtype != options.dtype) {
    throw invalid_argument("Variable: initial value of '{}', got {}, expected dtype {}",
                           options.name, type, options.dtype);
  }
  if (!type.is_static()) {
    throw invalid_argument("Variable: initial value of '{}', got {}, expected a fully known shape",
                           options.name, type);
  }
  const std::string& name = scope.name();
  handle_ = graph
                .add_node("VarHandleOp", {},
                          {{"dtype", type.dtype},
                           {"shape", type.shape},
                           {"container", std::string()},
                           {"shared_name", name.substr(0, name.size() - 1)}},
                          {}, name)
                ->output();
  initializer_ = add_assignment("AssignVariableOp", handle_, initial_value_, {}, "Assign");
  const NameScope read("Read");
  snapshot_ =
      graph.add_node("ReadVariableOp", {handle_}, {{"dtype", type.dtype}, {"_snapshot", true}})
          ->output();

  if (options.collections.empty()) graph.add_to_collection(graph_keys::global_variables, *this);
  for (const std::string& key : options.collections) graph.add_to_collection(key, *this);
  if (options.trainable) graph.add_to_collection(graph_keys::trainable_variables, *this);
}

Variable Variable::of_nodes(Output handle, Output value, Operation initializer) {
  Variable variable;
  variable.handle_ = handle;
  variable.snapshot_ = value;
  variable.initial_value_ = initializer.node()->input(1);
  variable.initializer_ = initializer;
  handle.graph().add_to_collection(graph_keys::global_variables, variable);
  return variable;
}

Variable Variable::with_value(const Output& value) const {
  Variable variable = *this;
  variable.snapshot_ = value;
  return variable;
}

const std::string& Variable::name() const { return handle_.node()->name(); }
const TensorType& Variable::type() const { return snapshot_.type(); }

namespace {

DType stored_dtype(const Variable& variable) {
  return variable.handle().node()->attr<DType>("dtype");
}

}  // namespace

Output Variable::read_value(Input::Where where) const {
  return Graph::current()
      .add_node("ReadVariableOp", {handle_}, {{"dtype", stored_dtype(*this)}, {"_snapshot", false}},
                where)
      ->output();
}

namespace {

Output assign_and_read(const Variable& variable, std::string_view op, const Input& value) {
  Graph& graph = Graph::current();
  const WhereScope where(value.where());
  const DType dtype = stored_dtype(variable);
  Node* assignment = add_assignment(op, variable.handle(), value.resolve(dtype), {}, op);
  const ControlDependencies after({assignment});
  return graph
      .add_node("ReadVariableOp", {variable.handle()}, {{"dtype", dtype}, {"_snapshot", false}})
      ->output();
}

}  // namespace

Output Variable::assign(const Input& value) const {
  return assign_and_read(*this, "AssignVariableOp", value);
}
Output Variable::assign_add(const Input& delta) const {
  return assign_and_read(*this, "AssignAddVariableOp", delta);
}
Output Variable::assign_sub(const Input& delta) const {
  return assign_and_read(*this, "AssignSubVariableOp", delta);
}

std::vector<Variable> global_variables() {
  return Graph::current().root().collection<Variable>(graph_keys::global_variables);
}
std::vector<Variable> trainable_variables() {
  return Graph::current().root().collection<Variable>(graph_keys::trainable_variables);
}
std::vector<Variable> local_variables() {
  return Graph::current().root().collection<Variable>(graph_keys::local_variables);
}

Operation global_variables_initializer() { return variables_initializer(global_variables()); }

Operation variables_initializer(const std::vector<Variable>& variables, std::string_view name) {
  std::vector<Operation> initializers;
  for (const Variable& variable : variables) initializers.push_back(variable.initializer());
  return group(initializers, name);
}

Operation group(const std::vector<Operation>& operations, std::string_view name,
                Input::Where where) {
  const ControlDependencies after(operations);
  return Graph::current().add_node("NoOp", {}, {}, where, name);
}

Variable get_or_create_global_step() {
  const auto existing = Graph::current().root().collection<Variable>(graph_keys::global_step);
  if (!existing.empty()) return existing[0];
  const GraphScope graph(Graph::current().root());
  const NameScope top("/");
  return Variable(int64_t{0}, {.name = std::string(graph_keys::global_step),
                               .trainable = false,
                               .dtype = DType::s64,
                               .collections = {std::string(graph_keys::global_variables),
                                               std::string(graph_keys::global_step)}});
}

Variable get_global_step() {
  const auto existing = Graph::current().root().collection<Variable>(graph_keys::global_step);
  if (!existing.empty()) return existing[0];
  throw not_found(
      "get_global_step: variable, got none, expected one made by get_or_create_global_step()");
}

}  // namespace systole
