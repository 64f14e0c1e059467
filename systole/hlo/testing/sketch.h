// A program as one short expression, for tests of passes.
#pragma once

#include <string>

#include "systole/hlo/ir/module.h"

namespace systole::hlo::testing {

// Returns the results of a computation as nested expressions, separated by "; ": "add(p0,
// broadcast[2](1))". Parameters of main are p0, p1...; of a region a0, a1.... Constants are their
// elements. The opcode is followed by the type if it is not the operands', the attributes and the
// regions.
std::string sketch(const Computation& computation);

}  // namespace systole::hlo::testing
