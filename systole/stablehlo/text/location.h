// loc(...) after an op.
#pragma once

#include "systole/hlo/ir/module.h"
#include "systole/stablehlo/text/lexer.h"

namespace systole::hlo::text {

// Reads loc("node"("file.cc":41:0)), loc(#loc3) and so on, if there is one. Keeps the name, and
// drops the file, whose name would have to outlive all programs.
Metadata read_location(Lexer& lexer);

}  // namespace systole::hlo::text
