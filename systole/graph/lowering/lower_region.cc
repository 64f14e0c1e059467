#include "systole/graph/lowering/lower_region.h"

namespace systole {

void RegionDraft::clone_into(hlo::Computation& region) const {
  hlo::ValueMap map;
  region.clone_from(computation_, map);
}

LoweredFunction lower_into(LowerContext& c, RegionDraft& draft, const Graph& function,
                           std::span<const hlo::Value> arguments,
                           std::span<const Node* const> assigned,
                           std::span<const hlo::Value> before, hlo::Value iteration) {
  Lowering& lowering = c.lowering;
  std::vector<hlo::Value> outside;
  for (const Node* variable : assigned) {
    outside.push_back(lowering.read_variable(*variable, /*at_start=*/false));
  }
  for (size_t i = 0; i < before.size(); ++i) lowering.assign_variable(*assigned[i], before[i]);
  LoweredFunction lowered;
  lowering.begin_region(iteration);
  lowered.results = lowering.lower_function(function, draft.b(), arguments);
  for (const Node* variable : assigned) {
    lowered.variables.push_back(lowering.read_variable(*variable, /*at_start=*/false));
  }
  lowered.checks = lowering.end_region();
  for (size_t i = 0; i < assigned.size(); ++i) lowering.assign_variable(*assigned[i], outside[i]);
  return lowered;
}

}  // namespace systole
