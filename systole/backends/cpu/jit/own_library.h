// The shared library that this code is part of.
#pragma once

#include <string>

namespace systole::cpu {

// Returns the address of a function of the library or program that contains this code, or of a
// library that it depends on; null if there is none. A plugin's dependencies are found this way
// although its host opened it with RTLD_LOCAL, which hides them from other lookups. Thread-safe.
void* find_own_symbol(const std::string& name);

}  // namespace systole::cpu
