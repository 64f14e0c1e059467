// Programs in Python.
#pragma once

#include <span>

namespace systole::app {

// Returns whether a command line is `systole run ...` or `systole check PROGRAM.py`, whose words
// are Python's to read.
bool runs_python(std::span<char* const> words);
// Becomes Python with the package systole_tpu. Errors: NOT_FOUND when there is no Python.
void run_python(std::span<char* const> words);

}  // namespace systole::app
