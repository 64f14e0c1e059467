#include "systole/train/dependent_variables.h"

#include <algorithm>
#include <unordered_set>

namespace systole {
namespace {

// Whether the value is computed from one of these outputs or handles.
bool depends_on(const Output& value, const std::unordered_set<Output>& sources) {
  std::unordered_set<Output> seen;
  std::vector<Output> pending = {value};
  while (!pending.empty()) {
    const Output output = pending.back();
    pending.pop_back();
    if (sources.contains(output)) return true;
    if (!seen.insert(output).second) continue;
    const auto inputs = output.node()->inputs();
    pending.insert(pending.end(), inputs.begin(), inputs.end());
  }
  return false;
}

}  // namespace

void initialize_dependents(Session& session, const std::vector<Variable>& changed) {
  std::unordered_set<Output> sources;
  for (const Variable& variable : changed) {
    if (variable.initial_value().valid()) sources.insert(variable.initial_value());
    sources.insert(variable.handle());
  }
  std::vector<Fetch> initializers;
  std::vector<Output> needed;
  for (const Variable& variable :
       session.graph().collection<Variable>(graph_keys::global_variables)) {
    const Output value = variable.initial_value();
    if (!value.valid() || std::ranges::find(changed, variable) != changed.end()) continue;
    if (!depends_on(value, sources)) continue;
    initializers.emplace_back(variable.initializer());
    needed.push_back(value);
  }
  std::vector<FeedItem> feeds;
  for (const Variable& variable : changed) {
    const Output value = variable.initial_value();
    const bool is_needed = value.valid() && std::ranges::any_of(needed, [&](const Output& other) {
                             return depends_on(other, {value});
                           });
    if (is_needed) feeds.push_back({value, session.variable_value(variable)});
  }
  if (!initializers.empty()) session.run(initializers, feeds);
}

}  // namespace systole
