// For backends whose programs do not exchange values with other processes.
#pragma once

#include <string_view>

#include "systole/runtime/client.h"

namespace systole::runtime {

// Errors: UNIMPLEMENTED, with `platform`, for a group of several processes in `options`.
void check_single_process(std::string_view platform, const CompileOptions& options);

}  // namespace systole::runtime
