// Plain loops over image windows in double: what convolution and pooling are compared with.
#pragma once

#include <functional>

#include "systole/graph/api/nn_ops.h"
#include "systole/graph/testing/scalar_reference.h"

namespace systole::graph_testing {

// How a window moves over an image batch, [height, width] each.
struct WindowPlan {
  int64_t window[2];
  int64_t stride[2] = {1, 1};
  int64_t dilation[2] = {1, 1};
  Padding padding = Padding::valid;
  bool channels_first = false;  // NCHW

  std::string data_format() const { return channels_first ? "NCHW" : "NHWC"; }
  // "same_3x2_stride_2x1_dilation_1x1_NHWC"
  std::string name() const;
  // [batch, height, width, channels] in the order of the data format.
  Shape shape(int64_t batch, int64_t height, int64_t width, int64_t channels) const;
  int64_t output(int axis, int64_t input) const;
  // Elements of padding before the image.
  int64_t before(int axis, int64_t input) const;
};

// For every element of the result `f` gets its batch and channel, and a function that walks through
// the places of its window: row and column in the window, y and x in the image, maybe outside it.
using Place = std::function<void(int64_t row, int64_t column, int64_t y, int64_t x)>;
using WindowFn = std::function<double(int64_t batch, int64_t channel,
                                      const std::function<void(const Place&)>& for_each_place)>;
Tensor map_windows(const WindowPlan& plan, const Shape& image, int64_t channels, DType dtype,
                   const WindowFn& f);

// The element of an image batch; 0 outside.
double pixel_or_0(const WindowPlan& plan, const Tensor& image, int64_t batch, int64_t y, int64_t x,
                  int64_t channel);
bool is_inside(const WindowPlan& plan, const Shape& image, int64_t y, int64_t x);

}  // namespace systole::graph_testing
