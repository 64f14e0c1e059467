#include "systole/runtime/tpu_tiles.h"

#include <algorithm>

namespace systole::runtime {

int64_t padded_bytes(const TensorType& type) {
  constexpr int64_t kSublaneBytes = kTpuSublanes * 4;
  const int64_t size = std::max<int64_t>(dtype_info(type.dtype).size, 1);
  const int64_t rank = type.shape.rank();
  const int64_t elements = type.shape.num_elements();
  if (rank == 0 || elements == 0) return elements * size;
  if (rank == 1) return round_up(elements, kTpuLanes) * size;
  const int64_t sublanes = std::max<int64_t>(kSublaneBytes / size, 1);
  int64_t least = INT64_MAX;
  for (int lane = 0; lane < rank; ++lane) {
    for (int sublane = 0; sublane < rank; ++sublane) {
      if (lane == sublane) continue;
      const int64_t others = elements / type.shape[lane] / type.shape[sublane];
      least = std::min(least, others * round_up(type.shape[lane], kTpuLanes) *
                                  round_up(type.shape[sublane], sublanes));
    }
  }
  return least * size;
}

double tile_bytes(const TensorType& type) {
  return type.is_static() ? static_cast<double>(padded_bytes(type)) : 0;
}

}  // namespace systole::runtime
