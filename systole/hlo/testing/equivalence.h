// Compares a module before and after a rewrite by running both.
#pragma once

#include <cstdint>
#include <string>

#include "systole/hlo/ir/module.h"

namespace systole::hlo::testing {

// Runs main of both with the same random arguments, ordinary ones and (where `wild`) infinities,
// NaNs, zeros of both signs and extreme integers among them. "" when every result is the same to
// the bit, any NaN being as good as another; otherwise what differs.
std::string run_difference(const Module& before, const Module& after, uint64_t seed, bool wild);

}  // namespace systole::hlo::testing
