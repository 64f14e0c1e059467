// One update of one parameter: what the formula of a rule reads and assigns.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "systole/graph/optimizers/optimizer_def.h"
#include "systole/graph/optimizers/term.h"

namespace systole {

class UpdateStep {
 public:
  using Values = std::map<std::string, Output, std::less<>>;
  struct Inputs {
    std::string name = {};  // of the variable
    Output variable = {};
    Output gradient = {};  // of the variable's shape, or rows of one
    Output indices = {};   // of these rows: each once; -1 is none. Invalid for a whole gradient
    UpdatedRows rows = UpdatedRows::all;
    Values slots = {};  // and the shared one
    // "lr", and other scalars of the variable's dtype in place of numbers of `arguments`;
    // "beta1_power" and "step" (from 1) where the rule reads them.
    Values scalars = {};
  };
  // `arguments` outlives the step.
  UpdateStep(const OptimizerArguments& arguments, Inputs inputs);

  // What formulas read.
  Term variable() const { return term_of(inputs_.variable); }
  Term gradient() const;
  Term rate() const { return (*this)["lr"]; }
  Term slot(std::string_view name) const { return term_of(inputs_.slots.at(std::string(name))); }
  bool has_slot(std::string_view name) const { return inputs_.slots.contains(name); }
  // An argument that is a number; 0 where the front end does not have it.
  Term operator[](std::string_view argument) const;
  bool flag(std::string_view argument) const { return arguments_.flag(argument); }
  // Whether the patterns of an argument match the parameter's name.
  bool matches(std::string_view argument) const {
    return arguments_.matches(argument, inputs_.name);
  }
  bool has_patterns(std::string_view argument) const { return arguments_.has_patterns(argument); }
  // Whether the gradient is rows.
  bool of_rows() const { return inputs_.indices.valid(); }
  bool in_keras() const { return arguments_.in_keras; }
  // argument ^ t in step t.
  Term power(std::string_view argument) const;
  Term step() const { return (*this)["step"]; }

  // Assigns a slot, and returns its new value.
  Term assign(std::string_view slot, const Term& value);
  // Assigns the parameter, last.
  void assign(const Term& variable);

  // What they have assigned.
  const Output& new_variable() const { return new_variable_; }
  const Values& new_slots() const { return new_slots_; }

 private:
  // Rows alone are updated, in tensors of their own.
  bool apart() const { return inputs_.indices.valid() && inputs_.rows == UpdatedRows::touched; }
  Term term_of(const Output& tensor) const;
  Output put(const Output& before, const Output& rows) const;

  const OptimizerArguments& arguments_;
  Inputs inputs_;
  Output new_variable_;
  Values new_slots_;
};

// Runs the rule's update. The scalars that it needs are those of `inputs`.
UpdateStep run_update(const OptimizerDef& def, const OptimizerArguments& arguments,
                      UpdateStep::Inputs inputs);

}  // namespace systole
