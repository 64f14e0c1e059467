// What Systole's own models say of a step.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace systole::tpu_check {

// The memory and time of one core of a system.
struct CoreEstimate {
  std::string system;  // "v3-8"
  int64_t bytes = 0;
  int64_t limit = 0;
  double seconds = 0;             // of a step's kernels, without sums over cores
  double all_reduce_seconds = 0;  // of its sums over the cores
  bool fits() const { return bytes <= limit; }
  nlohmann::json to_json() const;
};

}  // namespace systole::tpu_check
