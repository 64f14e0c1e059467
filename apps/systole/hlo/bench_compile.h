// What compiling a program costs.
#pragma once

#include <string>

#include "systole/hlo/ir/module.h"

namespace systole::app {

// Compiles the program once and prints the processor time of all threads and
// the time of each part of the work, summed over threads and without the parts inside of it.
// `threads`: 0: chosen by the backend.
void bench_compile(const hlo::Module& module, const std::string& backend_name, int threads,
                   bool json);

}  // namespace systole::app
