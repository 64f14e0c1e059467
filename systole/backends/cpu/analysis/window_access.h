// Which element of an operand a window covers: reduce_window, select_and_scatter and convolution.
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

// Where along an axis of `size` elements window number `window` has its element `inside`. Adds the
// conditions under which there is one; without it, the coordinate is that of some other element.
// REQUIRES: size > 0.
Affine window_coordinate(IndexSpace& space, const WindowStep& step, int64_t size,
                         const Affine& window, const Affine& inside, std::vector<Bound>& bounds);

// Every element of a select_and_scatter's result lies in exactly one window.
bool windows_tile(const hlo::Instruction& select_and_scatter);

}  // namespace systole::cpu
