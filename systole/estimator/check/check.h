// Static checks of a model: what a TPU would refuse or do differently.
#pragma once

#include <string_view>
#include <vector>

#include "systole/estimator/check_report.h"
#include "systole/estimator/config.h"
#include "systole/estimator/model.h"
#include "systole/graph/lowering/specialize.h"

namespace systole::estimator {

struct CheckOptions {
  int64_t replicas = 1;
  int64_t reference_replicas = 8;  // of a TPU, for a run that has one replica
  int64_t core_memory = 0;         // bytes; 0: that of a TPU v2
};

// What corrects an input of a step.
struct InputAdvice {
  std::string_view shape;  // one that is unknown
  std::string_view text;   // strings
  std::string_view where;  // to cast: " in the input_fn"
};

// The step of a core.
struct CheckedStep {
  const Graph* graph = nullptr;
  std::vector<const Node*> nodes;  // what is checked, in the order of the graph
  std::vector<Feed> inputs;        // of the core; the dimensions may be unknown
  std::vector<Output> fetches;
  std::vector<Node*> targets;
  int64_t replicas = 1;  // that the program is made for
  bool trains = false;   // variables that many cores share
  InputAdvice advice;
};

// Returns all violations, in the order of the graph, and the memory and the program of the step.
CheckReport check_step(const CheckedStep& step, const CheckOptions& options);
// The same of a model's mode.
CheckReport check_model(const Model& model, const CheckOptions& options);

// Asks Google's compiler of the report's step, where the options name a system. Errors: those of
// CheckReport::compile().
void ask_compiler(const TPUCheckOptions& options, CheckReport& report);

// Throws INVALID_ARGUMENT with all violations, or logs them, according to `check`. Logs notes.
void enforce(const CheckReport& report, Check check);

}  // namespace systole::estimator
