// Traces of a host's profiler: what the plugin's programs and threads do, as an XSpace message.
#pragma once

#include "systole/pjrt_abi/pjrt_c_api.h"

namespace systole::plugin {

// One recording at a time in the process. Errors of its functions are the plugin's own errors.
extern PJRT_Profiler_Extension profiler_extension;

}  // namespace systole::plugin
