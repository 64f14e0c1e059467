// Times on Cloud TPUs that others published, beside predictions from the programs of these steps.
#pragma once

#include <string>
#include <vector>

#include "systole/base/file_system.h"
#include "systole/profile/prediction/step_cost.h"

namespace systole::tpu_check {

struct PublishedStep {
  std::string name;
  std::string program;  // "resnet50", of resnet50.mlir in the archive
  std::string system;   // "v2-8"
  double measured_seconds = 0;
  // What was measured: a whole step, or a part of it.
  double profile::StepPrediction::*part = &profile::StepPrediction::step_seconds;
  double input_bytes = 0;  // that a core gets from the host in a step
  std::string source;

  double predicted_seconds = 0;
  double ratio() const { return predicted_seconds / measured_seconds; }
};

// Reads a table (profile/prediction/measured_table.h) and predicts its steps. Columns: name,
// program, system, measured_ms, part ("step", "compute", "links"), input_bytes (empty: 0), source.
// Programs are StableHLO of one core, with its transfers to others; the archive `path` less its
// extension and with "_programs.tar.xz" holds them as PROGRAM.mlir. Errors: those of both files;
// INVALID_ARGUMENT, which names the line, for a field that cannot be; NOT_FOUND for a program that
// the archive lacks.
std::vector<PublishedStep> published_steps(FileSystem& files, const std::string& path);

}  // namespace systole::tpu_check
