// Writes the functions of a module as ops of VHLO.
#pragma once

#include <string>

#include "systole/hlo/ir/module.h"
#include "systole/stablehlo/bytecode/container.h"

namespace systole::hlo::bytecode {

// Returns the bytes of a portable artifact. Errors: UNIMPLEMENTED for what this version of VHLO
// does not have; INVALID_ARGUMENT for fusions, which StableHLO does not have.
std::string write_program(const Module& module, const VhloVersion& version);

}  // namespace systole::hlo::bytecode
