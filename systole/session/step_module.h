// The program of a StepLoop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "systole/graph/lowering/specialize.h"
#include "systole/session/step_loop.h"

namespace systole {

// Where a loop stores updates of variables that it reads.
enum class UpdatesGo : uint8_t {
  in_place,
  // In memory that further parameters bring; the old values do not change. For launches of one
  // step.
  aside,
};

// main(variables that are read, input stacks, random state, first step: s32, end: s32,
//      memory of updates that go aside)
//   -> (fetches, updated variables, checks)
struct StepModule {
  UpdatesGo updates = UpdatesGo::in_place;
  std::unique_ptr<hlo::Module> module;
  std::vector<bool> replicated_parameters;
  std::vector<const Node*> variables;  // one a parameter, in order
  // For each of `variables`: the index in `updated` of the update that is written over it; -1:
  // none.
  std::vector<int> update_of_variable;
  std::vector<const Node*> updated;  // one a result after the fetches
  std::vector<TensorType> updated_types;
  // For each of `updated`: whether a parameter is aliased with it. With UpdatesGo::aside these are
  // the parameters after `end`, in this order.
  std::vector<bool> in_place;
  std::vector<const Node*> random_nodes;
  std::vector<SpecializedProgram::Check> checks;
  std::vector<TensorType> fetch_types;  // of one replica and one step
  std::vector<std::string> averaged;    // names of variables
};

// Errors: those of specialize().
StepModule make_step_module(const Graph& graph, const StepLoopOptions& options,
                            UpdatesGo updates = UpdatesGo::in_place);

}  // namespace systole
