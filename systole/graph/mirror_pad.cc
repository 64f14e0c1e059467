#include "systole/graph/mirror_pad.h"

namespace systole {
namespace {

// `count` elements at the low or the high edge of an axis, mirrored.
Output edge_image(Output x, int axis, int64_t count, int64_t skip, bool low) {
  const int64_t size = x.shape()[axis];
  std::vector<int64_t> begin(static_cast<size_t>(x.shape().rank()), 0);
  std::vector<int64_t> extent(begin.size(), kUnknown);
  begin[static_cast<size_t>(axis)] = low ? skip : size - skip - count;
  extent[static_cast<size_t>(axis)] = count;
  return reverse(slice(x, begin, extent), axis);
}

}  // namespace

Output mirror_pad(Output x, const std::vector<std::pair<int64_t, int64_t>>& paddings, const PadOptions& options) {
  const int64_t skip = options.mode == PadMode::reflect ? 1 : 0;
  const int rank = x.shape().rank();
  if (static_cast<int>(paddings.size()) != rank) {
    throw invalid_argument("pad: paddings, got {} pairs for a tensor of {}, expected {}", paddings.size(), x.shape(),
                           rank);
  }
  const NameScope scope(options.name.empty() ? "MirrorPad" : options.name);
  for (int axis = 0; axis < rank; ++axis) {
    const auto [low, high] = paddings[static_cast<size_t>(axis)];
    if (low == 0 && high == 0) continue;
    const int64_t size = x.shape()[axis];
    if (low < 0 || high < 0 || size == kUnknown || low > size - skip || high > size - skip) {
      throw invalid_argument("pad: paddings of axis {} of {}, got {} and {}, expected between 0 and {}", axis,
                             x.shape(), low, high, size == kUnknown ? 0 : size - skip);
    }
    std::vector<Output> parts;
    if (low > 0) parts.push_back(edge_image(x, axis, low, skip, /*low=*/true));
    parts.push_back(x);
    if (high > 0) parts.push_back(edge_image(x, axis, high, skip, /*low=*/false));
    x = concat(parts, axis);
  }
  return x;
}

}  // namespace systole
