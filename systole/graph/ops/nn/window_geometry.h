// Strides, padding and data formats of convolution and pooling: from attributes to sizes and HLO
// attributes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/base/shape.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/hlo/ir/attrs.h"

namespace systole {

// Where a 4-D image tensor keeps its axes. Errors: INVALID_ARGUMENT for anything but "NHWC" and
// "NCHW".
struct DataFormat {
  explicit DataFormat(std::string_view name);
  int channels;
  int spatial[2];
  static constexpr int kBatch = 0;
};

// One number, two, or four in the order of the data format -> {height, width}.
// Errors: INVALID_ARGUMENT `<what>, got ..., expected ...`: other lengths, values below 1, a batch
// or channel entry not 1.
std::pair<int64_t, int64_t> spatial_pair(std::string_view what, std::span<const int64_t> values,
                                         const DataFormat& format);
// The pair as TensorFlow's attribute of four.
std::vector<int64_t> four_numbers(std::pair<int64_t, int64_t> pair, const DataFormat& format);

std::string_view padding_name(Padding padding);  // "SAME"

// One spatial axis of a window operation. All sizes but `input` are known; `input` may be kUnknown.
struct WindowAxis {
  int64_t input;
  int64_t window;
  int64_t stride;
  int64_t dilation;
  Padding padding;

  int64_t effective_window() const { return (window - 1) * dilation + 1; }
  // kUnknown for an unknown input. Errors: INVALID_ARGUMENT when a VALID window is larger than the
  // input.
  int64_t output() const;
  std::pair<int64_t, int64_t> pads() const;  // low, high. REQUIRES: a known input
};

// The two spatial axes of an op with attributes strides, padding, dilations (where it has them) and
// data_format.
struct ImageWindow {
  DataFormat format;
  WindowAxis axis[2];

  // `shape` with its spatial axes replaced by the outputs' and its channels by `channels`.
  Shape output_shape(const Shape& input, int64_t channels) const;
};
ImageWindow image_window(const AttrMap& attrs, const Shape& input,
                         std::pair<int64_t, int64_t> window);
// The window of a pooling op, whose size is its attribute ksize.
ImageWindow pool_window(const AttrMap& attrs, const Shape& input);
hlo::WindowAttrs pool_attrs(const ImageWindow& window);

}  // namespace systole
