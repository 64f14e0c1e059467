// Memory of the machine, and checks of the memory that a program needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "systole/runtime/client.h"

namespace systole::runtime {

// Returns the memory that this process may use: the physical memory, or the limit of its control
// group if that is less.
int64_t host_memory_bytes();

// "1.5 GiB", "37 B".
std::string bytes_text(double bytes);

// Errors: RESOURCE_EXHAUSTED `<platform>: memory of '<module>', got 12.0 GiB (...), expected at
// most 8.0 GiB; the largest tensors: ...` if arguments, results and temporaries together exceed
// `available` bytes. `stats` holds the memory plan of `module`.
void check_memory(std::string_view platform, const hlo::Module& module,
                  const ExecutableStats& stats, int64_t available);

}  // namespace systole::runtime
