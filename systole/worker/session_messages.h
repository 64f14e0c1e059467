// Values as messages between a worker and the process of a session, and back.
#pragma once

#include "systole/worker/protocol/session_process.pb.h"
#include "systole/worker/transfers.h"

namespace systole::worker {

void to_wire(const MovedArray& array, v1::SharedArray& message);
// Errors: those of from_wire() of the type.
MovedArray from_wire(const v1::SharedArray& message);

}  // namespace systole::worker
