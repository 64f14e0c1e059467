// Rewrites ops that modules do not keep: StableHLO's deprecated ops (dot, broadcast, create_token,
// einsum, torch_index_select...), CHLO, Shardy's ops, which place values on devices, and the
// dialects of StableHLO's own tests (check, interpreter), which become custom calls of the same
// names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/stablehlo/text/parsed_op.h"

namespace systole::hlo::text {

// Shardy's ops with a region, and their terminator.
inline constexpr std::string_view kShardedRegion = "sdy.manual_computation";
inline constexpr std::string_view kNamedRegion = "sdy.named_computation";
inline constexpr std::string_view kShardedReturn = "sdy.return";

// Returns the StableHLO name of an equivalent op of another dialect (MHLO, constants of other
// dialects); other names unchanged.
std::string native_name(std::string_view name);
// Returns the opcode of "stablehlo.add" or "func.call"; nullopt for other names.
std::optional<Opcode> opcode_of(std::string_view name);
// Returns the CHLO op that a custom call stands for (mhlo.topk, mhlo.erf); compilers write these
// for readers without CHLO. Returns nullopt for any other op.
std::optional<std::string> chlo_of_custom_call(const ParsedOp& op);
// Returns whether `op` is an rng_bit_generator whose state is an integer type other than ui64.
// import_op rewrites it.
bool has_foreign_rng_state(const ParsedOp& op);
// Returns whether the parser knows an op of that name: an opcode, tuple or get_tuple_element, or an
// op that import_op rewrites.
bool is_known_op(std::string_view name);

// Appends a large constant of equal elements: a broadcast of one element, or a constant if its
// declared type is quantized.
Value import_splat(Lexer& lexer, Computation& computation, const Splat& splat, const ParsedOp& op);
// Appends instructions equivalent to `op`, which has no regions, and returns its results.
// REQUIRES: is_known_op(op.name); `op` is not an opcode that make_instruction keeps, nor a tuple
// op. Errors, without a place: INVALID_ARGUMENT; UNIMPLEMENTED for forms without an equivalent.
std::vector<Value> import_op(Lexer& lexer, Computation& computation, const ParsedOp& op);

}  // namespace systole::hlo::text
