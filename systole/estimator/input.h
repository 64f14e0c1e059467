// The input of a model: the data sets of an input_fn, and the part of each batch for a replica.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "systole/data/feed/step_reader.h"
#include "systole/estimator/config.h"
#include "systole/estimator/functions.h"

namespace systole::estimator {

using Layout = data::StepLayout;

struct InputOptions {
  Mode mode = Mode::train;
  InputPipelineConfig config = InputPipelineConfig::PER_HOST_V1;
  int64_t replicas = 1;  // of this host
  int64_t hosts = 1;
  int64_t host = 0;
  bool use_tpu = false;
  std::optional<int64_t> batch_size;  // over the replicas of all hosts
  Params params;
};

// The result of an input_fn: a data set, or one for each replica of this host (PER_SHARD_V1).
struct Input {
  std::vector<Dataset> datasets;
  Layout layout = Layout::split;
  int64_t replicas = 1;
  ElementSpec features;                  // of a replica; an unknown batch is -1
  ElementSpec labels;                    // empty without labels
  std::optional<int64_t> replica_batch;  // examples of a replica in one step, if known
  std::vector<int64_t> rows = {};        // StepSource::rows
};

// Calls the input_fn. Errors: INVALID_ARGUMENT for a batch size that cannot be split, with the
// nearest sizes that can; for elements that are not batches; for shapes that must be static and are
// not, with the fix.
Input make_input(const InputFn& input_fn, const InputOptions& options);

// Returns the source of steps for a StepFeed. `pad`: incomplete batches are padded.
data::StepSource step_source(const Input& input, bool pad);

}  // namespace systole::estimator
