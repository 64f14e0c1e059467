// Sliding windows: reduce_window, select_and_scatter and convolution.
#pragma once

#include <optional>

#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/index.h"

namespace systole::hlo {

// One axis of a window. The operand is dilated by `base_dilation` and padded (padding may be
// negative). Windows of `size` elements with distance `dilation` then begin at every multiple of
// `stride`.
struct WindowAxis {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t padding_low = 0;
  int64_t padding_high = 0;
  int64_t base_dilation = 1;
  int64_t dilation = 1;
};

// Checks that the window has `rank` axes with positive sizes and strides, and two paddings each.
// Does not check dilations.
void check_window(Opcode opcode, const WindowAttrs& attrs, int rank);
// Missing dilations are 1. REQUIRES: check_window.
std::vector<WindowAxis> window_axes(const WindowAttrs& attrs);

// Returns the number of windows along an axis with `size` elements. REQUIRES: positive strides and
// dilations. Errors: INVALID_ARGUMENT if a value does not fit in 63 bits.
int64_t num_windows(Opcode opcode, int64_t size, const WindowAxis& axis);

// Windows that begin with the first element and grow by one each, or shrink by one each and end
// with the last: running sums, forward or in reverse. There are as many windows as elements.
struct RunningWindow {
  int axis;
  bool reverse;
};
// Returns how the windows of the reduce_window run, if they do and its initial values may be taken
// in once for all padding: they are neutral. (For regions that are no known operation they are,
// says the specification.)
std::optional<RunningWindow> running_window(const Instruction& reduce_window,
                                            const Tensor& initial);
// The same before the program runs: only a constant is known to be neutral.
std::optional<RunningWindow> running_window(const Instruction& reduce_window);

// Returns the operand dilated and padded with `value`.
Tensor pad_for_windows(const Tensor& operand, const Tensor& value,
                       std::span<const WindowAxis> axes);

// Iterates over all windows of a padded operand: the axes of `counts`, the numbers of windows, then
// the axes of the window.
struct WindowWalk {
  Dims extents;
  StridedView view;
};
WindowWalk walk_windows(const Shape& padded, std::span<const WindowAxis> axes,
                        std::span<const int64_t> counts);

// The value of `pad`. Negative `low` crops; `interior` elements are inserted between neighbours.
// `shape` is the result's.
Tensor pad(const Tensor& operand, const Tensor& value, std::span<const int64_t> low,
           std::span<const int64_t> interior, const Shape& shape);

}  // namespace systole::hlo
