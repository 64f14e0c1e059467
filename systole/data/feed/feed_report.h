// How well the input keeps up with the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "systole/data/iterator_options.h"

namespace systole {

// A value.
struct FeedReport {
  int64_t loops = 0;  // stacks returned so far
  int64_t steps = 0;
  double seconds = 0;         // from the first call of next() to the last
  double waited_seconds = 0;  // of these, inside next()
  std::vector<StageStats> stages;

  // Returns the stage with the most work for each of its threads; null if nothing has run.
  const StageStats* slowest() const;
  // Returns a sentence of advice for that stage.
  std::string advice() const;
  // Returns a table of the stages, and the advice.
  std::string to_string() const;
};

// Returns advice that makes the stage faster, to follow a colon: "give it num_parallel_calls =
// AUTOTUNE".
std::string remedy(const StageStats& stage);

}  // namespace systole
