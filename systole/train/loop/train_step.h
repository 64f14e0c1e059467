// What a training runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/runtime/process_group.h"
#include "systole/runtime/program_options.h"

namespace systole::train {

// One step of one replica.
struct TrainStep {
  // Placeholders of the components of a replica's batch, flattened, in the order of the input.
  std::vector<Output> inputs = {};
  // The inputs' names in errors ("features['x']"); the placeholders' names when empty.
  std::vector<std::string> input_names = {};
  Output loss = {};  // a scalar
  // Values of every step, for `on_steps`. When empty, a launch keeps the values of its last step.
  std::vector<Output> each_step = {};
  int64_t replicas = 1;  // of this process
  runtime::ProgramOptions program = {};
  // The processes that train together, each with as many replicas and a TrainLoop of its own, on
  // its own input; null: this one alone. Rank 0 restores or initialises the variables for all,
  // saves, and writes summaries and the log. A loop is as long as the shortest that a process
  // wants; it ends on all when the input of one does, when a hook of one asks for it, or with a
  // signal to one.
  runtime::ProcessGroup* processes = nullptr;

  bool is_first() const { return processes == nullptr || processes->rank() == 0; }
  // Whether there are other processes.
  bool has_others() const { return processes != nullptr && processes->size() > 1; }
  // The replicas of all processes.
  int64_t all_replicas() const { return replicas * (has_others() ? processes->size() : 1); }
};

}  // namespace systole::train
