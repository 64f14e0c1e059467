// Recordings as messages of the protocol, and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "systole/base/trace.h"

namespace systole::worker {

// Returns the bytes of a v1::Recording. Where they would be more than `max_bytes`, the oldest
// events of each thread are left out, and counted as dropped. Inputs and workers are not part of
// it. Errors: RESOURCE_EXHAUSTED if the programs alone are more.
std::string encode_recording(const tracing::Recording& recording, int64_t max_bytes);

// Reads them. They come from elsewhere, and are checked. Errors: DATA_LOSS, with what is wrong.
tracing::Recording decode_recording(std::string_view bytes);

}  // namespace systole::worker
