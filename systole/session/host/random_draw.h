// Random state of one call of a host function.
#pragma once

#include <cstdint>

namespace systole {

// Seeded ops depend only on `number`, the index of the call; unseeded ops also depend on `entropy`.
struct RandomDraw {
  uint64_t number = 0;
  uint64_t entropy = 0;
};

}  // namespace systole
