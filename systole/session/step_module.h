// The program of a StepLoop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "systole/graph/specialize.h"
#include "systole/session/step_loop.h"

namespace systole {

// main(variables that are read or updated in part, input stacks, random state, steps: s32)
//   -> (fetches, updated variables, checks)
struct StepModule {
  std::unique_ptr<hlo::Module> module;
  std::vector<bool> replicated_parameters;
  std::vector<const Node*> variables;  // one a parameter, in order
  std::vector<const Node*> updated;    // one a result behind the fetches
  std::vector<bool> in_place;          // of these, whether a parameter is aliased with it
  std::vector<const Node*> random_nodes;
  std::vector<SpecializedProgram::Check> checks;
  std::vector<TensorType> fetch_types;  // of one replica and one step
  std::vector<std::string> averaged;    // names of variables
};

// Errors: those of specialize().
StepModule make_step_module(const Graph& graph, const StepLoopOptions& options);

}  // namespace systole
