// Replaces floats below 16 bits by their codes, as ui8, so that backends need no code for them.
//
// Ops that move elements move codes. Other ops run on f32 (semantics/small_floats.h), with decoding
// before and encoding after them, a dozen integer ops that backends fuse with their neighbours.
// Products of operands of two types become those of one.
#pragma once

#include <memory>
#include <string_view>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Returns whether the module has floats below 16 bits, or a product of two types.
bool has_small_floats(const Module& module);

// A custom call that took or gave them has this attribute: the names of the element types of its
// operands, then of its results, as before. "f8E5M2 f32 f8E5M2"
inline constexpr std::string_view kElementTypesAttribute = "systole.element_types";

// Returns the module without them; parameters and results of main that had such a type are ui8. The
// module must be verified.
std::unique_ptr<Module> expand_small_floats(const Module& module);

}  // namespace systole::hlo
