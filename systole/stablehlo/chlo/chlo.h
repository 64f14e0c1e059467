// The client ops of StableHLO's CHLO dialect, expanded into StableHLO opcodes.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "systole/stablehlo/chlo/expansion.h"

namespace systole::hlo::chlo {

// Returns all expansions, sorted by name.
std::span<const NamedExpansion> all_expansions();

// Returns the expansion of `chlo.<name>`, or nullptr.
Expand find_expansion(std::string_view name);

// Expands an op that has one result and reads no attribute: expand(b, "erf", {x}). Errors: those of
// its expansion; INTERNAL if it has none.
Value expand(Builder& b, std::string_view name, std::initializer_list<Value> operands);

}  // namespace systole::hlo::chlo
