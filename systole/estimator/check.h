// What a TPU would refuse of a model, or do otherwise: found before anything runs.
#pragma once

#include <string>
#include <vector>

#include "systole/estimator/model.h"

namespace systole::estimator {

struct Violation {
  std::string what;   // "dtype f64 of node 'dense/MatMul' at model.cc:12 is not supported on a TPU"
  std::string fix;    // "cast it to f32"
  bool note = false;  // works, but otherwise than the program may expect
};

struct CheckOptions {
  int64_t replicas = 1;
  int64_t reference_replicas = 8;  // that a TPU would have, where this run has one
};

// All of them, in the order of the graph.
std::vector<Violation> check_model(const Model& model, const Input& input,
                                   const CheckOptions& options);

// Throws INVALID_ARGUMENT with all violations, or logs them, as `check` says; notes are logged.
void report(const std::vector<Violation>& violations, Check check);

}  // namespace systole::estimator
