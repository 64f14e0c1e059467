// The types after the colon of an op.
#pragma once

#include "systole/stablehlo/text/parsed_op.h"
#include "systole/stablehlo/text/syntax.h"

namespace systole::hlo::text {

// Each function reads the types into op.results and compares the operand types with the operands.
// `operands` is the offset of the operands, for errors. Errors: INVALID_ARGUMENT if they differ.

// (operand types) -> result types
void read_function_type(Lexer& lexer, size_t operands, ParsedOp& op);
// Reads the colon and the types in one of the pretty forms.
void read_op_types(Lexer& lexer, TypeForm form, size_t operands, ParsedOp& op);
// Reads the colon and the types, if there is a colon: T; T, U; T, U -> V; (T, U) -> V.
void read_foreign_types(Lexer& lexer, size_t operands, ParsedOp& op);

}  // namespace systole::hlo::text
