// A program as one short expression, for tests that compare what a pass made with what it should
// have made.
#pragma once

#include <string>

#include "systole/hlo/ir/module.h"

namespace systole::hlo::testing {

// The results of a computation as nested expressions, separated by "; ": "add(p0,
// broadcast[2](1))". Parameters of main are p0, p1...; of a region a0, a1.... Constants are their
// elements. The opcode is followed by what it takes to tell similar instructions apart: the type
// where it is not the operands', the attributes, the regions.
std::string sketch(const Computation& computation);

}  // namespace systole::hlo::testing
