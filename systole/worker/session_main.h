// A session whose operations run in a process of its own: that process.
#pragma once

#include "systole/runtime/client.h"
#include "systole/worker/session_template.h"

namespace systole::worker {

// Carries out the operations that the worker sends, until it closes the socket. Takes the
// descriptors of the seat over. `limit_memory`: limits the memory of the process, as it should
// where it is one of its own. Errors: RESOURCE_EXHAUSTED.
void run_session(runtime::Client& device, const SessionSeat& seat,
                 const std::shared_ptr<SharedCounters>& counters, bool limit_memory);

}  // namespace systole::worker
