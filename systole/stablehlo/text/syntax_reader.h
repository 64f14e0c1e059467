// Reads the pretty form of an op.
#pragma once

#include "systole/stablehlo/text/parsed_op.h"
#include "systole/stablehlo/text/syntax.h"

namespace systole::hlo::text {

// Reads the part between the op's name and its attributes in braces: operands, and attributes in
// their short spelling, which become one more dictionary of `op`. Errors: INVALID_ARGUMENT.
void read_syntax(Lexer& lexer, const Scopes& scopes, const Syntax& syntax, ParsedOp& op);

}  // namespace systole::hlo::text
