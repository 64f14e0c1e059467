// What a TPU would refuse of a model, or do otherwise: found before anything runs.
#pragma once

#include "systole/estimator/check/check_report.h"
#include "systole/estimator/model.h"

namespace systole::estimator {

struct CheckOptions {
  int64_t replicas = 1;
  int64_t reference_replicas = 8;  // that a TPU would have, where this run has one
  int64_t core_memory = 0;         // bytes; 0: that of a TPU v2
};

// All violations, in the order of the graph, and the memory of a step.
CheckReport check_model(const Model& model, const CheckOptions& options);

// Throws INVALID_ARGUMENT with all violations, or logs them, as `check` says; notes are logged.
void enforce(const CheckReport& report, Check check);

}  // namespace systole::estimator
