// Chrome's trace event format, which Perfetto and chrome://tracing show. Source: "Trace Event
// Format", Google, 2016.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/tracing/recording.h"

namespace systole::profile {

inline constexpr int64_t kMaxTraceEvents = 200'000;

struct TraceOptions {
  int64_t most = kMaxTraceEvents;
  bool dataflow = false;  // arrows from launches to their first steps
  bool memory = false;    // a counter with the memory of the program of each step
};

// Passes the text to `write` in pieces. Processes: the host (1) with a row for each thread, the
// device (2) with rows for steps, programs, ops and name scopes, then those of each worker, on the
// same time axis; the metadata says by how much its clock may be wrong. Of more than `most` events
// the shortest ones are left out; the metadata says how many. Times are microseconds since the
// start.
void write_trace_json(const tracing::Recording& recording,
                      const std::function<void(std::string_view)>& write,
                      const TraceOptions& options = {});

// Checks a text against the format: a JSON object with traceEvents; phases X, B, E, i, C, M, b, n,
// e, s, t, f with the fields that each needs; finite times; balanced B and E; events of one row
// that nest; names of processes and threads. Returns what is wrong, at most 20 sentences.
std::vector<std::string> check_trace_json(std::string_view text);

}  // namespace systole::profile
