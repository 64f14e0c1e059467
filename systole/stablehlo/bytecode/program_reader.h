// Converts the ops of a bytecode file to StableHLO text in MLIR's generic form.
#pragma once

#include <string>
#include <vector>

#include "systole/stablehlo/bytecode/container.h"

namespace systole::hlo::bytecode {

struct ProgramText {
  std::string text;
  std::vector<size_t> offsets;  // of the op of each line, in the file
};

// Errors: those of AttributeReader; UNIMPLEMENTED for ops of VHLO that are unknown, and for regions
// of several blocks.
ProgramText read_program(const Container& container);

}  // namespace systole::hlo::bytecode
