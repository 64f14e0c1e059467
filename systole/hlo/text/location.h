// loc(...) behind an op.
#pragma once

#include "systole/hlo/ir/module.h"
#include "systole/hlo/text/lexer.h"

namespace systole::hlo::text {

// Reads loc("node"("file.cc":41:0)), loc(#loc3) and so on, where one stands. The name is kept; a
// file's name would have to outlive every program.
Metadata read_location(Lexer& lexer);

}  // namespace systole::hlo::text
