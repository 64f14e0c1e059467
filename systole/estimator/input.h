// The input of a model: which data sets an input_fn gives, and what a replica gets of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "systole/data/feed/step_reader.h"
#include "systole/estimator/estimator.h"

namespace systole::estimator {

using Layout = data::StepLayout;

struct InputOptions {
  Mode mode = Mode::train;
  InputPipelineConfig config = InputPipelineConfig::PER_HOST_V1;
  int64_t replicas = 1;
  bool use_tpu = false;
  std::optional<int64_t> batch_size;  // over all replicas
  Params params;
};

// What an input_fn gave: a data set, or one for each replica (PER_SHARD_V1).
struct Input {
  std::vector<Dataset> datasets;
  Layout layout = Layout::split;
  int64_t replicas = 1;
  ElementSpec features;                  // of a replica; the batch is -1 where it is not known
  ElementSpec labels;                    // empty when there are none
  std::optional<int64_t> replica_batch;  // examples of a replica in one step
};

// Calls the input_fn. Errors: INVALID_ARGUMENT for a batch size that cannot be split, with the
// nearest sizes that can; for shapes that are not static where they must be, with the fix.
Input make_input(const InputFn& input_fn, const InputOptions& options);

// What its steps are made of. `pad`: batches that are not full are filled up.
data::StepSource step_source(const Input& input, bool pad);

}  // namespace systole::estimator
