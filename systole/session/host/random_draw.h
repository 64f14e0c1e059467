// How a call of a host function draws random numbers.
#pragma once

#include <cstdint>

namespace systole {

// What the random ops of one call of a host function draw by: `number` counts the calls, equal
// numbers draw equal values; those without seeds draw from `entropy`, too.
struct RandomDraw {
  uint64_t number = 0;
  uint64_t entropy = 0;
};

}  // namespace systole
