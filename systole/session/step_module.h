// The program of a StepLoop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "systole/graph/lowering/specialize.h"
#include "systole/session/step_loop.h"

namespace systole {

// Where a loop puts the values of variables that it reads and updates.
enum class UpdatesGo : uint8_t {
  in_place,
  // To memory that a further parameter brings; the old values stay where they are. For launches of
  // one step.
  aside,
};

// main(variables that are read or updated in part, input stacks, random state, first step: s32,
//      end: s32, memory for updates that go aside)
//   -> (fetches, updated variables, checks)
struct StepModule {
  UpdatesGo updates = UpdatesGo::in_place;
  std::unique_ptr<hlo::Module> module;
  std::vector<bool> replicated_parameters;
  std::vector<const Node*> variables;  // one a parameter, in order
  // By these: the index in `updated` of the update that may be written over the parameter; -1 for
  // none.
  std::vector<int> update_of_variable;
  std::vector<const Node*> updated;  // one a result behind the fetches
  std::vector<TensorType> updated_types;
  std::vector<bool> in_place;  // of these, whether a parameter is aliased with it; aside: the
                               // parameters behind `end`, in this order
  std::vector<const Node*> random_nodes;
  std::vector<SpecializedProgram::Check> checks;
  std::vector<TensorType> fetch_types;  // of one replica and one step
  std::vector<std::string> averaged;    // names of variables
};

// Errors: those of specialize().
StepModule make_step_module(const Graph& graph, const StepLoopOptions& options,
                            UpdatesGo updates = UpdatesGo::in_place);

}  // namespace systole
