#include "systole/graph/core/axes.h"

#include <algorithm>
#include <numeric>

#include "systole/base/error.h"

namespace systole {

Dims Axes::list(int rank) const {
  if (!all_) return axes_;
  Dims axes(static_cast<size_t>(rank), 0);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

int64_t normalize_axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    throw invalid_argument("axis, got {}, expected in [{}, {})", axis, -rank, rank);
  }
  return axis < 0 ? axis + rank : axis;
}

Dims normalize_axes(std::span<const int64_t> axes, int rank) {
  Dims result;
  for (const int64_t axis : axes) result.push_back(normalize_axis(axis, rank));
  std::ranges::sort(result);
  if (const auto twice = std::ranges::adjacent_find(result); twice != result.end()) {
    throw invalid_argument("axes, got {} twice, expected each once", *twice);
  }
  return result;
}

Dims other_axes(const Dims& axes, int rank) {
  Dims result;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (std::ranges::find(axes, axis) == axes.end()) result.push_back(axis);
  }
  return result;
}

}  // namespace systole
