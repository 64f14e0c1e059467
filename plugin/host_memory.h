// Memory of the host that the plugin allocates for callers.
#pragma once

#include "systole/pjrt_abi/pjrt_c_api.h"

namespace systole::plugin {

// The first of the plugin's extensions.
extern PJRT_HostAllocator_Extension host_allocator_extension;

}  // namespace systole::plugin
