// Asks a worker for a recording.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "systole/tracing/recording.h"

namespace systole::worker {

struct WorkerProfileOptions {
  double seconds = 2;                 // at most
  std::optional<int64_t> steps = {};  // ends it when so many steps of programs have ended
};

// Records all that the worker does, for all its programs, and returns it on the clock of this
// machine. A recording that is empty or shorter than was asked for says why in its remark.
// Credentials are those of the environment. Errors: INVALID_ARGUMENT for an address that is none,
// and for one beyond this machine without TLS; UNAVAILABLE if nobody answers; UNAUTHENTICATED;
// FAILED_PRECONDITION while another recording of the worker is in progress; UNIMPLEMENTED for a
// worker of an older version.
tracing::WorkerRecording profile_worker(const std::string& address,
                                        const WorkerProfileOptions& options);

}  // namespace systole::worker
