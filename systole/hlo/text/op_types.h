// The types behind the colon of an op.
#pragma once

#include "systole/hlo/text/op_reader.h"
#include "systole/hlo/text/syntax.h"

namespace systole::hlo::text {

// Each reads the types into op.results, and compares those of the operands, which stand from
// `operands` on. Errors: INVALID_ARGUMENT when they are not what the operands are.

// (operand types) -> result types
void read_function_type(Lexer& lexer, size_t operands, ParsedOp& op);
// From the colon on, in one of the pretty forms.
void read_op_types(Lexer& lexer, TypeForm form, size_t operands, ParsedOp& op);
// From the colon on, where there is one: T; T, U; T, U -> V; (T, U) -> V.
void read_foreign_types(Lexer& lexer, size_t operands, ParsedOp& op);

}  // namespace systole::hlo::text
