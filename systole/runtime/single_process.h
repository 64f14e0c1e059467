// For backends whose programs do not exchange values with other processes.
#pragma once

#include <string_view>

#include "systole/runtime/client.h"

namespace systole::runtime {

// Checks that `options` name no group of several processes. Errors: UNIMPLEMENTED, which names
// `platform`.
void check_single_process(std::string_view platform, const CompileOptions& options);

}  // namespace systole::runtime
