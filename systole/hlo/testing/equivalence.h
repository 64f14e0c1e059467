// Compares a module before and after a rewrite by running both.
#pragma once

#include <cstdint>
#include <string>

#include "systole/hlo/ir/module.h"

namespace systole::hlo::testing {

// Runs main of both with the same random arguments; if `wild`, with infinities, NaNs, signed zeros
// and extreme integers among them. Returns "" if every result is equal bit for bit (all NaNs are
// equal), otherwise the difference.
std::string run_difference(const Module& before, const Module& after, uint64_t seed, bool wild);

}  // namespace systole::hlo::testing
