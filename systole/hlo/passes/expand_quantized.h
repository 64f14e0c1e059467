// Replaces quantized types by their storage types, and ops on them by ops on integers and real
// numbers with the same values (semantics/quantized.h).
//
// Products of s8 become products of s8 with results of s32, less a sum per channel for the zero
// point of lhs. Rescaling becomes elementwise ops after them, which backends fuse. Functions of
// one operand of 8 or 16 bits become a table.
#pragma once

#include <memory>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Returns whether a value of the module has a quantized type.
bool has_quantized_types(const Module& module);

// Returns the module without quantized types; parameters and results have the storage types. The
// module must be verified.
std::unique_ptr<Module> expand_quantized(const Module& module);

}  // namespace systole::hlo
