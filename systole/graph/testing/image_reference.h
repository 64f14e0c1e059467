// Plain loops over windows of images and volumes in double: what convolution and pooling are
// compared with.
#pragma once

#include <functional>

#include "systole/graph/api/nn_ops.h"
#include "systole/graph/testing/scalar_reference.h"

namespace systole::graph_testing {

// How a window moves over a batch; a number for each spatial axis: {height, width} or {depth,
// height, width}.
struct WindowPlan {
  std::vector<int64_t> window;
  std::vector<int64_t> stride = {};    // ones when empty
  std::vector<int64_t> dilation = {};  // ones when empty
  Padding padding = Padding::valid;
  bool channels_first = false;

  size_t num_spatial() const { return window.size(); }
  int64_t stride_of(size_t i) const { return stride.empty() ? 1 : stride[i]; }
  int64_t dilation_of(size_t i) const { return dilation.empty() ? 1 : dilation[i]; }
  std::vector<int64_t> strides() const;
  std::vector<int64_t> dilations() const;
  std::string data_format() const;  // "NHWC", "NCDHW"...
  int channel_axis() const;
  int first_spatial() const { return channels_first ? 2 : 1; }
  // "same_3x2_stride_2x1_dilation_1x1_NHWC"
  std::string name() const;
  // [batch, sizes, channels] in the order of the data format.
  Shape shape(int64_t batch, const std::vector<int64_t>& sizes, int64_t channels) const;
  int64_t output(size_t axis, int64_t input) const;
  // Elements of padding before the input.
  int64_t before(size_t axis, int64_t input) const;
};

// For every element of the result `f` gets its batch and channel, and a function that walks through
// the places of its window: where in the window, and where in the input, maybe outside it.
using Place = std::function<void(IndexSpan in_window, IndexSpan in_input)>;
using WindowFn = std::function<double(int64_t batch, int64_t channel,
                                      const std::function<void(const Place&)>& for_each_place)>;
Tensor map_windows(const WindowPlan& plan, const Shape& input, int64_t channels, DType dtype,
                   const WindowFn& f);

// The element of a batch at the spatial index `at`; 0 outside.
double pixel_or_0(const WindowPlan& plan, const Tensor& input, int64_t batch, IndexSpan at,
                  int64_t channel);
bool is_inside(const WindowPlan& plan, const Shape& input, IndexSpan at);

}  // namespace systole::graph_testing
