// Pictures of the machine as SVG, and its timeline as a trace file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "systole/tpu_v1/timing/timing.h"

namespace systole::tpu_v1 {

struct NamedCounters {
  std::string name;
  Counters counters;
};

// Draws programs below the roofline: multiply-adds of a weight byte against tera-operations a
// second (two for a multiply-add).
std::string roofline_svg(std::span<const NamedCounters> programs, const MachineConfig& machine);
// Draws the shares of the cycles that are active, weight stall, weight shift and non-matrix, a bar
// for each program.
std::string utilization_svg(std::span<const NamedCounters> programs);
// Draws the systolic array cycle by cycle as one animation (SMIL): weights shifting in, then
// `vectors` waves. Errors: INVALID_ARGUMENT for a size outside 2 to 16 or more than 32 vectors.
std::string wave_svg(int size, int vectors);

// Returns a timeline in Chrome's trace format (JSON), in microseconds, a thread for each unit.
std::string trace_json(const Program& program, const TimingReport& report,
                       const MachineConfig& machine);

}  // namespace systole::tpu_v1
