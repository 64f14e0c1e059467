// Static checks of a model: what a TPU would refuse or do differently.
#pragma once

#include "systole/estimator/check_report.h"
#include "systole/estimator/config.h"
#include "systole/estimator/model.h"

namespace systole::estimator {

struct CheckOptions {
  int64_t replicas = 1;
  int64_t reference_replicas = 8;  // of a TPU, for a run that has one replica
  int64_t core_memory = 0;         // bytes; 0: that of a TPU v2
};

// Returns all violations, in the order of the graph, and the memory of a step.
CheckReport check_model(const Model& model, const CheckOptions& options);

// Throws INVALID_ARGUMENT with all violations, or logs them, according to `check`. Logs notes.
void enforce(const CheckReport& report, Check check);

}  // namespace systole::estimator
