#include "systole/keras/preprocessing/numpy_random.h"

#include <bit>
#include <numeric>

namespace systole::keras {

double NumpyRandom::random() {
  const uint32_t high = next_u32() >> 5U;
  const uint32_t low = next_u32() >> 6U;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

uint64_t NumpyRandom::below_or_equal(uint64_t max) {
  if (max == 0) return 0;
  const uint64_t mask = ~uint64_t{0} >> static_cast<unsigned>(std::countl_zero(max));
  while (true) {
    uint64_t bits = next_u32();
    if (max > 0xffffffffU) bits = bits << 32U | next_u32();
    if ((bits & mask) <= max) return bits & mask;
  }
}

std::vector<int64_t> NumpyRandom::permutation(int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  shuffle(order);
  return order;
}

}  // namespace systole::keras
