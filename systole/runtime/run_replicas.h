// Runs a program on the arguments of each replica. For tools and tests.
#pragma once

#include <span>
#include <vector>

#include "systole/runtime/client.h"

namespace systole::runtime {

// Compiles `module` for as many replicas as `arguments` has entries, each the arguments of one
// replica, and returns the results of each. The options' number of replicas is not read. Errors:
// those of Client::compile() and of the program.
std::vector<std::vector<Tensor>> run_replicas(Client& client, const hlo::Module& module,
                                              std::span<const std::vector<Tensor>> arguments,
                                              CompileOptions options = {});

}  // namespace systole::runtime
