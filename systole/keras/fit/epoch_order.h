// The order of examples or batches in an epoch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "systole/base/random.h"

namespace systole::keras {

// 0 to count - 1, shuffled. Depends on (count, seed, epoch) alone, so that a continued run takes
// the same.
inline std::vector<int64_t> shuffled_order(int64_t count, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  RandomStream stream(seed, static_cast<uint64_t>(epoch));
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[stream.next_below(i)]);
  }
  return order;
}

}  // namespace systole::keras
