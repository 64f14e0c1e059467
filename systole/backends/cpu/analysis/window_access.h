// The operand element that a window covers, for reduce_window, select_and_scatter and convolution.
#pragma once

#include <vector>

#include "systole/backends/cpu/analysis/index.h"

namespace systole::cpu {

// 0 <= x <= last.
struct Bound {
  Affine x;
  int64_t last;
};

struct WindowStep {
  int64_t stride = 1;
  int64_t padding_low = 0;
  int64_t base_dilation = 1;
  int64_t dilation = 1;
};

// Returns the coordinate, on an axis of `size` elements, of element `inside` of window `window`.
// Appends the conditions under which the element exists; otherwise the coordinate is that of
// another element. REQUIRES: size > 0.
Affine window_coordinate(IndexSpace& space, const WindowStep& step, int64_t size,
                         const Affine& window, const Affine& inside, std::vector<Bound>& bounds);

// Returns whether every result element of the select_and_scatter is in exactly one window.
bool windows_tile(const hlo::Instruction& select_and_scatter);

}  // namespace systole::cpu
