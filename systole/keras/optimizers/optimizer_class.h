// The registry of optimizers by name.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/keras/base/json.h"
#include "systole/keras/optimizers/optimizer.h"

namespace systole::keras {

struct OptimizerClass {
  std::string name;   // "Adam"
  std::string alias;  // "adam"
  std::function<OptimizerSpec(const Json& config)> from_config;
  const OptimizerDef* def = nullptr;  // null for a class of the user's
  bool has_lazy = false;
};

// Returns the classes of the rules in graph/optimizers, defined by the build.
std::span<OptimizerClass (*const)()> optimizer_class_files();

// By its name or alias; null where there is none.
const OptimizerClass* find_optimizer_class(std::string_view name);

// What configurations hold: Keras stores hyperparameters in f32.
inline double rounded(double value) { return static_cast<double>(static_cast<float>(value)); }

// An optimizer of a rule with the arguments of a configuration, others from `arguments`.
// "learning_rate" is the lr of later versions. Arguments of other versions count as left out where
// they are null, 0 or false. Errors: NOT_FOUND for other unknown arguments.
OptimizerSpec rule_optimizer_from(const OptimizerDef& def, std::vector<OptimizerArgument> arguments,
                                  const Json& config);
OptimizerClass make_rule_class(const OptimizerDef& def, std::vector<OptimizerArgument> arguments);

template <class Rule>
void add_optimizer_class(std::vector<OptimizerClass (*)()>& all) {
  if constexpr (!std::is_same_v<typename Rule::KerasOptions, NoOptions>) {
    all.push_back([] { return make_rule_class(Rule::def, keras_arguments<Rule>({})); });
  }
}

}  // namespace systole::keras
