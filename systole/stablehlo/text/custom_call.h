// Checks of a custom call's layouts and aliases. A module keeps these as text and flattens tuples,
// so they are checked while the types of the text are known.
#pragma once

#include "systole/stablehlo/text/op_reader.h"

namespace systole::hlo::text {

// Checks operand_layouts, result_layouts, output_operand_aliases and the kind of backend_config.
// Does not advance `lexer`. Errors: INVALID_ARGUMENT.
void check_custom_call(Lexer& lexer, const ParsedOp& op);

}  // namespace systole::hlo::text
