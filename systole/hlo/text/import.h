// Ops in texts that no module keeps, said with those that it does: StableHLO's deprecated ones
// (dot, broadcast, create_token, einsum, torch_index_select...), CHLO, the ops of Shardy, which say
// where values lie, and the dialects of StableHLO's own tests (check, interpreter), which become
// custom calls of the same names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/hlo/text/op_reader.h"

namespace systole::hlo::text {

// Shardy's regions: of what one device computes, of what has a name; and how both end.
inline constexpr std::string_view kShardedRegion = "sdy.manual_computation";
inline constexpr std::string_view kNamedRegion = "sdy.named_computation";
inline constexpr std::string_view kShardedReturn = "sdy.return";

// The name in our table of an op of a dialect that says the same: MHLO, which StableHLO grew out
// of, and constants of other dialects.
std::string native_name(std::string_view name);
// "stablehlo.add" -> add, "func.call" -> call; nullopt for what is no op of ours.
std::optional<Opcode> opcode_of(std::string_view name);
// The op of CHLO that a custom call is another spelling of (mhlo.topk, mhlo.erf), as compilers
// write it for readers without CHLO; nullopt for any other op.
std::optional<std::string> chlo_of_custom_call(const ParsedOp& op);
// Whether `op` is an rng_bit_generator with a state of another integer type than ui64, which
// import_op rewrites.
bool has_foreign_rng_state(const ParsedOp& op);
// Whether a text may hold ops of that name: opcodes, tuple and get_tuple_element, and what
// import_op rewrites.
bool is_known_op(std::string_view name);

// Appends what stands for `op`, which has no regions, to `computation`, and returns the values that
// stand for its results. REQUIRES: is_known_op(op.name), and it is no opcode and no tuple's.
// Errors: INVALID_ARGUMENT; UNIMPLEMENTED for forms of these ops that we cannot say; neither has a
// place.
// A large constant of equal elements: one, broadcast.
Value import_splat(Computation& computation, const Splat& splat, const Metadata& metadata);
std::vector<Value> import_op(Lexer& lexer, Computation& computation, const ParsedOp& op);

}  // namespace systole::hlo::text
