// Replaces floats below 16 bits by their codes, as ui8, so that backends need no code for them.
//
// Ops that move elements move codes. Other ops run on f32 (semantics/small_floats.h), with decoding
// before and encoding after them, a dozen integer ops that backends fuse with their neighbours.
// Products of operands of two types become those of one.
#pragma once

#include <memory>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Returns whether the module has floats below 16 bits, or a product of two types.
bool has_small_floats(const Module& module);

// Returns the module without them; parameters and results of main that had such a type are ui8. The
// module must be verified. Errors: UNIMPLEMENTED for custom calls that take or give them.
std::unique_ptr<Module> expand_small_floats(const Module& module);

}  // namespace systole::hlo
