// Our figures beside the paper's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "systole/backends/tpu_v1/machine/config.h"

namespace systole::tpu_v1 {

struct Figure {
  std::string section;
  std::string name;
  std::string unit;
  double ours = 0;
  double paper = 0;
  std::optional<double> allowed;  // largest difference that we promise; none: shown only
  bool relative = false;          // the difference is in percent of the paper's figure

  double difference() const { return relative ? 100 * (ours / paper - 1) : ours - paper; }
  bool reached() const {
    return !allowed || (difference() <= *allowed && difference() >= -*allowed);
  }
};

// Times the reconstructed programs and the worked examples of the paper.
std::vector<Figure> validation_figures();

// The effect of a change of the machine on a program, as the paper's figure 11 shows it.
struct Change {
  std::string name;  // "memory x4"
  MachineConfig machine;
};
// memory, clock, clock+ (accumulators scale along), matrix and matrix+ times `factor`. Errors:
// INVALID_ARGUMENT for one that makes no machine.
std::vector<Change> scaled_machines(const MachineConfig& machine, double factor);

// Returns the table of the figures as Markdown.
std::string validation_table(const std::vector<Figure>& figures);

}  // namespace systole::tpu_v1
