// Source lines in the errors of a worker's compiler, which knows the names of nodes only.
#pragma once

#include <string>

#include "systole/hlo/ir/module.h"

namespace systole::remote {

// Returns the message with " at iris.cc:41" after the first `node 'x'` whose line the module knows.
std::string with_source_line(const std::string& message, const hlo::Module& module);

}  // namespace systole::remote
