#include "systole/graph/ops/array/mirror_pad.h"

#include <algorithm>

#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"

namespace systole {
namespace {

// `count` elements at the low or the high edge of an axis, mirrored.
Output edge_image(Output x, int axis, int64_t count, int64_t skip, bool low) {
  const int64_t size = x.shape()[axis];
  std::vector<int64_t> begin(static_cast<size_t>(x.shape().rank()), 0);
  std::vector<int64_t> extent(begin.size(), kUnknown);
  begin[axis] = low ? skip : size - skip - count;
  extent[axis] = count;
  return reverse(slice(x, begin, extent), axis);
}

void check_paddings(const Shape& x, const std::vector<std::pair<int64_t, int64_t>>& paddings,
                    int64_t skip) {
  if (std::ssize(paddings) != x.rank()) {
    throw invalid_argument("paddings, got {} pairs for a tensor of {}, expected {}",
                           paddings.size(), x, x.rank());
  }
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto [low, high] = paddings[axis];
    if (low == 0 && high == 0) continue;
    if (x[axis] == kUnknown) {
      throw invalid_argument(
          "size of padded axis {} of {}, got an unknown one, expected a known one", axis, x);
    }
    const int64_t most = std::max<int64_t>(x[axis] - skip, 0);
    if (low < 0 || high < 0 || low > most || high > most) {
      throw invalid_argument("paddings of axis {} of {}, got {} and {}, expected between 0 and {}",
                             axis, x, low, high, most);
    }
  }
}

}  // namespace

Output mirror_pad(const Input& tensor, const std::vector<std::pair<int64_t, int64_t>>& paddings,
                  const PadOptions& options) {
  const CompositionScope scope(tensor, options.name, "MirrorPad");
  const int64_t skip = options.mode == PadMode::reflect ? 1 : 0;
  Output x = resolve("MirrorPad", tensor);
  with_op("MirrorPad", tensor.where(), [&] { check_paddings(x.shape(), paddings, skip); });
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    const auto [low, high] = paddings[axis];
    std::vector<Output> parts;
    if (low > 0) parts.push_back(edge_image(x, axis, low, skip, /*low=*/true));
    parts.push_back(x);
    if (high > 0) parts.push_back(edge_image(x, axis, high, skip, /*low=*/false));
    if (parts.size() > 1) x = concat(parts, axis);
  }
  return identity(x, scope.result());
}

}  // namespace systole
