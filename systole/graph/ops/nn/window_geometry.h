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

// Where a tensor of images (two spatial axes) or volumes (three) keeps its axes.
struct DataFormat {
  // Errors: INVALID_ARGUMENT for anything but "NHWC" and "NCHW", or "NDHWC" and "NCDHW".
  explicit DataFormat(std::string_view name, int num_spatial = 2);

  int num_spatial;
  int channels = 0;
  // The axis of the i-th spatial dimension.
  int spatial(size_t i) const { return (channels == 1 ? 2 : 1) + static_cast<int>(i); }
  int rank() const { return num_spatial + 2; }
  static constexpr int kBatch = 0;
};

// One number, one a spatial axis, or one an axis in the order of the data format -> one a spatial
// axis.
// Errors: INVALID_ARGUMENT `<what>, got ..., expected ...`: other lengths, values below 1, a batch
// or channel entry not 1.
std::vector<int64_t> spatial_sizes(std::string_view what, std::span<const int64_t> values,
                                   const DataFormat& format);
// Sizes along the spatial axes as TensorFlow's attribute, which has a number an axis.
std::vector<int64_t> all_sizes(std::span<const int64_t> spatial, const DataFormat& format);

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

// The spatial axes of an op with attributes strides, padding, dilations (where it has them) and
// data_format.
struct SpatialWindow {
  DataFormat format;
  std::vector<WindowAxis> axes;

  // `shape` with its spatial axes replaced by the outputs' and its channels by `channels`.
  Shape output_shape(const Shape& input, int64_t channels) const;
};
// `window` has a size for each spatial axis. REQUIRES: an input of two axes more.
SpatialWindow spatial_window(const AttrMap& attrs, const Shape& input,
                             std::span<const int64_t> window);
// The window of a pooling op, whose size is its attribute ksize. Errors: INVALID_ARGUMENT for an
// input of another rank than 4 and 5.
SpatialWindow pool_window(const AttrMap& attrs, const Shape& input);
hlo::WindowAttrs pool_attrs(const SpatialWindow& window);

}  // namespace systole
