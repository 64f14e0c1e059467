#include "systole/backends/cpu/analysis/window_access.h"

namespace systole::cpu {

Affine window_coordinate(IndexSpace& space, const WindowStep& step, int64_t size,
                         const Affine& window, const Affine& inside, std::vector<Bound>& bounds) {
  const Affine place = window * step.stride + inside * step.dilation + Affine(-step.padding_low);
  const int64_t last = (size - 1) * step.base_dilation;
  const auto [low, high] = space.range(place);
  if (low < 0 || high > last) bounds.push_back({place, last});
  Affine clamped = space.clamp(place, last);
  if (step.base_dilation == 1) return clamped;
  auto [quotient, remainder] = space.divide(clamped, step.base_dilation);
  if (!(remainder == Affine(0))) bounds.push_back({remainder, 0});
  return quotient;
}

bool windows_tile(const hlo::Instruction& x) {
  const auto& attrs = x.attrs<hlo::WindowAttrs>();
  for (size_t d = 0; d < attrs.window_dimensions.size(); ++d) {
    const int axis = static_cast<int>(d);
    const int64_t window = attrs.window_dimensions[d];
    if (window != attrs.window_strides[d] || attrs.padding[d].first != 0 ||
        x.operand(1).shape()[axis] * window != x.shape()[axis])
      return false;
  }
  return true;
}

}  // namespace systole::cpu
