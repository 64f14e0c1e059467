// The shape of random numbers that layers draw for their input.
#pragma once

#include <cstdint>
#include <vector>

#include "systole/graph/core/graph.h"

namespace systole::keras {

// s32 [rank]: `noise_shape`, with x's size where it says -1.
Output noise_sizes(const Output& x, const std::vector<int64_t>& noise_shape);

}  // namespace systole::keras
