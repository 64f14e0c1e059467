// A program's memory plan as XLA's messages, for XProf.
#pragma once

#include "systole/profile/proto/hlo.pb.h"
#include "systole/tracing/recording.h"

namespace systole::profile {

// Returns the program's arrays as instructions of one computation, and their places: one allocation
// for the temporaries, and one for each argument, result and constant. Instructions are custom
// calls without operands, which XLA takes for a valid module, whose last one is the result.
xla::HloProto hlo_proto_of(const tracing::Program& program);

}  // namespace systole::profile
