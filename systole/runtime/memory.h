// The memory that a program needs, and what there is of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "systole/runtime/client.h"

namespace systole::runtime {

// What processes of this machine may use: its physical memory, or less where the process's control
// group says so.
int64_t host_memory_bytes();

// "1.5 GiB", "37 B".
std::string bytes_text(double bytes);

// Errors: RESOURCE_EXHAUSTED `<platform>: memory of '<module>', got 12.0 GiB (...), expected at
// most 8.0 GiB; the largest tensors: ...` when arguments, results and temporaries together are more
// than `available` bytes. The module is the one that the plan in `stats` is for.
void check_memory(std::string_view platform, const hlo::Module& module,
                  const ExecutableStats& stats, int64_t available);

}  // namespace systole::runtime
