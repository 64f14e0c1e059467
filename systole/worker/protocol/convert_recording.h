// Recordings as messages of the protocol, and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "systole/tracing/recording.h"

namespace systole::worker {

// Returns the bytes of a v1::Recording. Where they would be more than `max_bytes`, the oldest
// events of each thread are left out, and counted as dropped. Inputs and workers are not part of
// it. Errors: RESOURCE_EXHAUSTED if the programs alone are more.
std::string encode_recording(const tracing::Recording& recording, int64_t max_bytes);

// The recording of another process of this machine.
struct RecordingPart {
  std::string bytes;      // as encode_recording() makes them
  int64_t thread = 0;     // the kernel's id of one of its threads,
  std::string name = {};  // and its name in the whole
};
// Whether it has events of threads. One that is damaged has none.
bool has_events(const RecordingPart& part);
// Adds threads and programs of other processes to a recording that encode_recording() made. Parts
// that would make it larger than `max_bytes` are left out.
std::string join_recordings(std::string_view whole, const std::vector<RecordingPart>& parts,
                            int64_t max_bytes);

// Reads them. They come from elsewhere, and are checked. Errors: DATA_LOSS, with what is wrong.
tracing::Recording decode_recording(std::string_view bytes);

}  // namespace systole::worker
