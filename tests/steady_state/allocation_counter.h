// Counts the host memory that a piece of code asks for.
#pragma once

#include <cstdint>
#include <functional>

namespace systole::testing {

// How often `body` and what runs beside it on other threads call malloc, realloc, calloc or an
// aligned form of them; operator new is among them. Calls from inside libdnnl are left out: oneDNN
// makes some objects anew in every call of a primitive. One caller at a time.
int64_t allocations_of(const std::function<void()>& body);

}  // namespace systole::testing
