// Processes of sessions, for tests.
#pragma once

#include "systole/worker/session_template.h"

namespace systole::worker::testing {

// A template over the cpu backend. It is forked before the first test of the program, while there
// is one thread; the program links it by calling this.
SessionTemplate& session_processes();

}  // namespace systole::worker::testing
