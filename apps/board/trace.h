// Timelines in the trace-event format, as chrome://tracing and Perfetto read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "systole/base/file_system.h"

namespace systole::board {

// Converts {"traceEvents": [...]} to columns that a page can draw at once:
//   {"tracks": [[process name, thread name], ...] in the order of their sort indices,
//    "names": [...], "track": [...], "name": [...], "begin": [us], "duration": [us], "depth":
//    [...], "args": {"<event>": {...}} of the first events, "events": n, "cut": events that were
//    left out, of those that were read}
// `depth` counts the events of the track that contain the event. Complete events (X) and pairs of B
// and E are kept, at most half a million, sorted by begin within a track; of more than two million
// the others are not read. Names, tracks and
// arguments are limited, too: memory does not grow with the text. Errors: INVALID_ARGUMENT for
// text that is not such JSON; RESOURCE_EXHAUSTED for an event of more than a megabyte.
std::string trace_json(std::string_view text);
// The same of a gzip file. Errors: those of the file; DATA_LOSS for a damaged one;
// RESOURCE_EXHAUSTED for more than `max_bytes` of contents, or contents that are more than 1000
// times as large as the file.
std::string trace_json_of_gzip(FileSystem& file_system, const std::string& path,
                               uint64_t max_bytes);

}  // namespace systole::board
