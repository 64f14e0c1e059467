// Windows that slide over an operand: reduce_window, select_and_scatter and convolution.
#pragma once

#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/index.h"

namespace systole::hlo {

// One axis of a window. `base_dilation` - 1 holes lie between neighbours of the operand, padding
// (which may be negative) around it; then windows of `size` elements, `dilation` apart, begin at
// every multiple of `stride`.
struct WindowAxis {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t padding_low = 0;
  int64_t padding_high = 0;
  int64_t base_dilation = 1;
  int64_t dilation = 1;
};

// The window has `rank` axes with positive sizes and strides, and two paddings for each. Dilations
// are not checked.
void check_window(Opcode opcode, const WindowAttrs& attrs, int rank);
// Dilations left out are 1. REQUIRES: check_window.
std::vector<WindowAxis> window_axes(const WindowAttrs& attrs);

// The number of windows along an axis of an operand with `size` elements. REQUIRES: positive
// strides and dilations. Errors: INVALID_ARGUMENT for what does not fit in 63 bits.
int64_t num_windows(Opcode opcode, int64_t size, const WindowAxis& axis);

// The operand with the window's padding and holes filled with `value`.
Tensor pad_for_windows(const Tensor& operand, const Tensor& value,
                       std::span<const WindowAxis> axes);

// All windows of a padded operand as one walk: the axes of `counts`, how many windows there are
// along each axis, followed by the axes of the window.
struct WindowWalk {
  Dims extents;
  StridedView view;
};
WindowWalk walk_windows(const Shape& padded, std::span<const WindowAxis> axes,
                        std::span<const int64_t> counts);

// pad's value: negative `low` cuts off, `interior` elements go between neighbours. `shape` is the
// result's.
Tensor pad(const Tensor& operand, const Tensor& value, std::span<const int64_t> low,
           std::span<const int64_t> interior, const Shape& shape);

}  // namespace systole::hlo
