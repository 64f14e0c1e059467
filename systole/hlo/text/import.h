// Ops in texts that no module keeps, said with those that it does: StableHLO's deprecated ones
// (dot, broadcast, create_token, einsum, cross-replica-sum), CHLO, and the dialects of StableHLO's
// own tests (check, interpreter), which become custom calls of the same names.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "systole/hlo/module.h"
#include "systole/hlo/text/op_reader.h"

namespace systole::hlo::text {

// "stablehlo.add" -> add, "func.call" -> call; nullopt for what is no op of ours.
std::optional<Opcode> opcode_of(std::string_view name);
// Whether a text may hold ops of that name: opcodes, tuple and get_tuple_element, and what
// import_op rewrites.
bool is_known_op(std::string_view name);

// Appends what stands for `op`, which has no regions, to `computation`, and returns the values that
// stand for its results. REQUIRES: is_known_op(op.name), and it is no opcode and no tuple's.
// Errors: INVALID_ARGUMENT; UNIMPLEMENTED for forms of these ops that we cannot say; neither has a
// place.
std::vector<Value> import_op(Lexer& lexer, Computation& computation, const ParsedOp& op);

}  // namespace systole::hlo::text
