// Variables: state that lives in a session between runs.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/core/graph.h"

namespace systole {

struct VariableOptions {
  std::string name = "Variable";
  bool trainable = true;
  DType dtype = DType::invalid;  // of the initial value when absent
  // In place of {global_variables}; trainable_variables is added when `trainable`.
  std::vector<std::string> collections = {};
};

// A handle to a variable of the current graph; copies mean the same variable. Used as an Input it
// is its value at the start of the run, whatever the run assigns (TensorFlow leaves that order
// open); `read_value` under control_dependencies, or built after an assignment of the same run,
// sees what was assigned. Several assignments of one run happen in the order in which they were
// built.
class Variable {
 public:
  Variable() = default;
  // Errors: INVALID_ARGUMENT when the initial value's shape is not fully known.
  explicit Variable(const Input& initial_value, const VariableOptions& options = {});
  // Variable(0.0F, "w")
  template <std::convertible_to<std::string_view> Name>
  Variable(const Input& initial_value, const Name& name)
      : Variable(initial_value, VariableOptions{.name = std::string(std::string_view(name))}) {}

  // The variable that nodes of the graph make up (of an imported graph): adds it to the global
  // variables.
  static Variable of_nodes(Output handle, Output value, Operation initializer);

  bool valid() const { return handle_.valid(); }
  const std::string& name() const;  // "Variable_1"
  const TensorType& type() const;   // of value()
  DType dtype() const { return type().dtype; }
  const Shape& shape() const { return type().shape; }

  Output value() const { return snapshot_; }
  // The same variable whose value, where it is used as an Input, is `value`, made from its own: a
  // cast, a moving average. Assignments, read_value and checkpoints are those of the variable.
  Variable with_value(const Output& value) const;
  Output read_value(Input::Where where = Input::Where::current()) const;
  Output initial_value() const { return initial_value_; }
  Operation initializer() const { return initializer_; }
  // Each returns the stored value after it. Errors: INVALID_ARGUMENT for another shape or dtype.
  Output assign(const Input& value) const;
  Output assign_add(const Input& delta) const;
  Output assign_sub(const Input& delta) const;

  // The node that stands for the storage ("VarHandleOp").
  Output handle() const { return handle_; }

  friend bool operator==(const Variable& a, const Variable& b) { return a.handle_ == b.handle_; }

 private:
  Output handle_;
  Output snapshot_;
  Output initial_value_;
  Operation initializer_;
};

std::vector<Variable> global_variables();
std::vector<Variable> trainable_variables();
std::vector<Variable> local_variables();
// One op that runs the initialisers of the variables (all global ones of the current graph as it is
// now).
Operation global_variables_initializer();
Operation variables_initializer(const std::vector<Variable>& variables,
                                std::string_view name = "init");
// An op that is done when its inputs are. (tf.group)
Operation group(const std::vector<Operation>& operations, std::string_view name = "group_deps",
                Input::Where where = Input::Where::current());

// The int64 scalar "global_step" of the current graph: get, create, or either.
Variable get_or_create_global_step();
// Errors: NOT_FOUND when it was not created.
Variable get_global_step();

}  // namespace systole
