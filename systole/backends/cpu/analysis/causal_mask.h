// Masks that let a query see the keys up to its own position.
#pragma once

#include <cstdint>
#include <optional>

#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Returns the number s for which an element of the mask is true exactly where its position along
// the last axis is at most s more than that along the last axis but one; nullopt if there is none,
// or none is found.
std::optional<int64_t> causal_shift(const hlo::Value& mask);

}  // namespace systole::cpu
