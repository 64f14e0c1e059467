// The memory viewer: a program's arrays in program order, from its memory plan. No run is needed.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "systole/profile/analysis.h"

namespace systole::profile {

// Bytes in use over the positions of a program. Arguments, results and constants count at all
// positions; temporaries that share memory count once.
struct MemoryProfile {
  std::vector<int64_t> temporary_bytes;  // by position
  int64_t peak_bytes = 0;                // of temporaries
  int peak_position = 0;
  int64_t constant_bytes = 0;
  int64_t padding_bytes = 0;  // that a TPU would add to all arrays
};
MemoryProfile memory_profile(const tracing::Program& program);

// The program of the recording whose ops took longest; null without any.
const tracing::Program* main_program(const tracing::Recording& recording, const Analysis& analysis);

// Totals, the peak, and the largest arrays at the peak.
nlohmann::json memory_summary(const tracing::Recording& recording, const Analysis& analysis);

}  // namespace systole::profile
