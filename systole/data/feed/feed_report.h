// How well the input of a device keeps up with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "systole/data/iterator_options.h"

namespace systole {

// A value.
struct FeedReport {
  int64_t loops = 0;  // stacks given so far
  int64_t steps = 0;
  double seconds = 0;         // from the first call of next() to the last
  double waited_seconds = 0;  // of these inside next()
  std::vector<StageStats> stages;

  // The stage with the most work for each of its threads; null when nothing has run.
  const StageStats* slowest() const;
  // What to do about it, in a sentence.
  std::string advice() const;
  // A table of the stages, and the advice.
  std::string to_string() const;
};

}  // namespace systole
