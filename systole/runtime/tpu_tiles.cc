#include "systole/runtime/tpu_tiles.h"

#include <algorithm>

namespace systole::runtime {
namespace {

int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

}  // namespace

int64_t padded_bytes(const TensorType& type) {
  constexpr int64_t kLanes = 128;
  constexpr int64_t kSublaneBytes = 32;  // 8 words of 32 bits
  const int64_t size = std::max<int64_t>(dtype_info(type.dtype).size, 1);
  const int64_t rank = type.shape.rank();
  const int64_t elements = type.shape.num_elements();
  if (rank == 0 || elements == 0) return elements * size;
  if (rank == 1) return round_up(elements, kLanes) * size;
  const int64_t sublanes = std::max<int64_t>(kSublaneBytes / size, 1);
  int64_t least = INT64_MAX;
  for (int lane = 0; lane < rank; ++lane) {
    for (int sublane = 0; sublane < rank; ++sublane) {
      if (lane == sublane) continue;
      const int64_t others = elements / type.shape[lane] / type.shape[sublane];
      least = std::min(least, others * round_up(type.shape[lane], kLanes) *
                                  round_up(type.shape[sublane], sublanes));
    }
  }
  return least * size;
}

}  // namespace systole::runtime
