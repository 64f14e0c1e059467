// Parses one op in its generic or pretty form.
#pragma once

#include "systole/stablehlo/text/parsed_op.h"

namespace systole::hlo::text {

// Reads an op, from the names of its results to its location. Skips regions; their bodies are read
// when the instruction that owns them exists. Errors: INVALID_ARGUMENT; UNIMPLEMENTED for an
// unknown op.
ParsedOp read_op(Lexer& lexer, const Scopes& scopes);

// Reads %arg0: tensor<f32> loc("x").
ParsedParameter read_parameter(Lexer& lexer);

}  // namespace systole::hlo::text
