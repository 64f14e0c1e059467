#include "systole/keras/engine/weight_bindings.h"

#include <utility>

#include "systole/graph/api/array_ops.h"

namespace systole::keras {

Variable WeightBindings::variable_of(const WeightPtr& weight) {
  if (const auto it = index_of_.find(weight.get()); it != index_of_.end()) {
    return all_[it->second].variable;
  }
  const NameScope top("");
  // The first value must not wait for what the program under construction waits for.
  const ControlDependencies none(nullptr);
  const Variable variable = make_(weight);
  bind(weight, variable);
  return variable;
}

void WeightBindings::bind(const WeightPtr& weight, const Variable& variable) {
  if (!index_of_.emplace(weight.get(), all_.size()).second) return;
  all_.push_back({.weight = weight, .variable = variable});
}

void WeightBindings::set_values(Session& session) const {
  std::vector<WeightPtr> weights;
  for (const Bound& bound : all_) weights.push_back(bound.weight);
  initialize(weights);
  for (const Bound& bound : all_) session.set_variable(bound.variable, bound.weight->value());
}

WeightBindings bind_weights(std::function<WeightNames()> names) {
  return WeightBindings(
      [names = std::move(names), known = WeightNames()](const WeightPtr& weight) mutable {
        if (!known.contains(weight.get())) known = names();
        const auto it = known.find(weight.get());
        return Variable(zeros(weight->shape(), weight->type().dtype),
                        {.name = it != known.end() ? it->second : "optimizer/" + weight->name(),
                         .trainable = weight->trainable()});
      });
}

}  // namespace systole::keras
