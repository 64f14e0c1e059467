// Nesting of the spans of one thread.
#pragma once

#include <utility>
#include <vector>

#include "systole/tracing/recording.h"

namespace systole::profile {

struct NestedSpan {
  const tracing::Event* event = nullptr;  // borrowed
  int parent = -1;                        // its index; -1: none
  int64_t end = 0;                        // the event's, at most the parent's
  int64_t self_ns = 0;  // without the spans inside it: the sum is the time covered
  std::vector<int> children = {};
};

// Returns the spans by begin, those around others first.
std::vector<NestedSpan> nest(const std::vector<tracing::Event>& events);
// Returns the intervals [begin, end) in which no child runs.
std::vector<std::pair<int64_t, int64_t>> self_intervals(const std::vector<NestedSpan>& spans,
                                                        size_t index);
// Returns the thread with most of the steps' time, else the one with most events; null without any.
const tracing::ThreadEvents* training_thread(const tracing::Recording& recording);

}  // namespace systole::profile
