// Counts host memory allocations of a piece of code.
#pragma once

#include <cstdint>
#include <functional>

namespace systole::testing {

// Returns the number of calls of malloc, realloc, calloc and their aligned forms (and thus operator
// new) while `body` runs, on all threads. Ignores calls from libdnnl, because oneDNN allocates some
// objects in every call of a primitive. One caller at a time.
int64_t allocations_of(const std::function<void()>& body);

}  // namespace systole::testing
