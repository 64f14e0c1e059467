// Our figures beside the paper's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "systole/tpu_v1/machine/config.h"

namespace systole::tpu_v1 {

struct Figure {
  std::string section;
  std::string name;
  std::string unit;
  double ours = 0;
  std::optional<double> paper;    // a number that the paper prints
  std::string words;              // what the paper says instead of a number: "half"
  std::optional<double> derived;  // what follows from numbers of the paper
  std::optional<double> allowed;  // largest difference that we promise; none: shown only
  bool relative = false;          // differences are in percent of the other figure

  double difference(double from) const { return relative ? 100 * (ours / from - 1) : ours - from; }
  // Returns whether the figure is as near as promised to what it is held to: the derived figure,
  // else the paper's, else 0.
  bool reached() const {
    const double d = difference(derived.value_or(paper.value_or(0)));
    return !allowed || (d <= *allowed && d >= -*allowed);
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
