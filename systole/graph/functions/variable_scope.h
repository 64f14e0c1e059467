// Variables by name, made once and used again. (tensorflow/python/ops/variable_scope.py)
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/core/variable.h"
#include "systole/graph/initializers/initializers.h"

namespace systole {

// What get_variable does when the name exists: inherit asks the scope around, and outside of all
// scopes means no.
enum class Reuse : uint8_t {
  inherit,
  no,          // an error
  yes,         // gives the variable; a new name is an error
  auto_reuse,  // gives the variable, or makes it (tf.AUTO_REUSE)
};

struct GetVariableOptions {
  DType dtype = DType::invalid;  // the scope's, else f32
  Initializer initializer =
      nullptr;  // the scope's, else glorot_uniform; zeros for dtypes that are not floating
  bool trainable = true;
  std::vector<std::string> collections = {};  // in place of {global_variables}
  // Maps the stored value of a variable that is made to a penalty in
  // graph_keys::regularization_losses.
  std::function<Output(const Output& value)> regularizer = nullptr;
};

// Gives the variable `name`, a name within the current scope.
using VariableGetter = std::function<Variable(std::string_view name, const Shape& shape,
                                              const GetVariableOptions& options)>;
// Stands before get_variable in a scope: calls `getter` with these arguments or with others, and
// gives its variable, or that variable with another value (Variable::with_value). The dtype of
// `options` is known. That of an inner scope comes first, with that of the outer as its `getter`.
using CustomGetter = std::function<Variable(const VariableGetter& getter, std::string_view name,
                                            const Shape& shape, const GetVariableOptions& options)>;

struct VariableScopeOptions {
  // In place of an absent name: the first of default_name, default_name_1... that was not entered
  // here yet.
  std::string default_name = {};
  Reuse reuse = Reuse::inherit;
  // For get_variable without its own; those of the scope around when absent.
  Initializer initializer = nullptr;
  DType dtype = DType::invalid;
  CustomGetter custom_getter = nullptr;
};

// `with tf.variable_scope(name):` for the current graph, while it lives, on this thread. Variables
// made in it by get_variable are named "scope/name"; entering the same name again gives the same
// variables, while ops get a name scope of their own ("scope_1"). A variable scope lies within the
// one around it; a trailing "/" means the whole name as it is. Errors: neither name nor
// default_name.
class VariableScope {
 public:
  explicit VariableScope(std::string_view name, const VariableScopeOptions& options = {});
  ~VariableScope();
  VariableScope(const VariableScope&) = delete;
  VariableScope& operator=(const VariableScope&) = delete;

  // "a/b". With a trailing "/" it re-enters the scope.
  const std::string& name() const { return name_; }

 private:
  struct ChosenName {};
  VariableScope(const std::string& name, const VariableScopeOptions& options, ChosenName);

  std::string name_;
  NameScope name_scope_;
};

// The variable `name` of the current variable scope: a new one, or that of the name, as the scope's
// reuse says. Errors: ALREADY_EXISTS without reuse; NOT_FOUND with Reuse::yes; INVALID_ARGUMENT
// when the shape or dtype of the variable is another, or `shape` is not static. (tf.get_variable)
Variable get_variable(std::string_view name, const Shape& shape,
                      const GetVariableOptions& options = {},
                      Input::Where where = Input::Where::current());

// `with tf.contrib.tpu.bfloat16_scope():` for the current graph, while it lives, on this thread.
// Where get_variable is asked for bf16, as layers do whose inputs are bf16, the variable is stored
// as f32 and its value is rounded to bf16: products run in bf16, updates and checkpoints keep f32.
// Names are those without the scope, unless it is given one of its own.
class Bfloat16Scope {
 public:
  explicit Bfloat16Scope(std::string_view name = {});
  ~Bfloat16Scope();
  Bfloat16Scope(const Bfloat16Scope&) = delete;
  Bfloat16Scope& operator=(const Bfloat16Scope&) = delete;

 private:
  std::optional<VariableScope> named_;
};

}  // namespace systole
