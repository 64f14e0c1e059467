#include "systole/keras/layers/convolution_layer.h"

#include "systole/graph/api/array_ops.h"

namespace systole::keras::layers {

std::vector<int64_t> effective_window(const Sizes& kernel_size, const Sizes& dilation_rate) {
  std::vector<int64_t> window;
  for (size_t i = 0; i < kernel_size.values.size(); ++i) {
    window.push_back((kernel_size.values[i] - 1) * dilation_rate.values[i] + 1);
  }
  return window;
}

void refuse_strides_with_dilation(std::string_view layer, const Sizes& strides,
                                  const Sizes& dilation_rate) {
  const auto more_than_1 = [](int64_t size) { return size > 1; };
  if (std::ranges::none_of(strides.values, more_than_1) ||
      std::ranges::none_of(dilation_rate.values, more_than_1)) {
    return;
  }
  throw invalid_argument(
      "{}: strides > 1 not supported in conjunction with dilation_rate > 1, got strides {} and "
      "dilation_rate {}, expected one of them to be 1",
      layer, tuple_text(strides.values), tuple_text(dilation_rate.values));
}

Output padded_causally(const SpatialAxes& axes, const Output& x, int64_t window) {
  if (window == 1) return x;
  std::vector<std::pair<int64_t, int64_t>> paddings(3);
  paddings[axes.spatial(0)].first = window - 1;
  return pad(x, paddings);
}

Output convolved(const SpatialAxes& axes, const Output& x, const Output& kernel,
                 const ConvolutionSteps& steps) {
  if (axes.rank == 3) {
    return conv3d(x, kernel,
                  {.strides = steps.strides.values,
                   .padding = padding_from_string(steps.padding),
                   .dilations = steps.dilations.values,
                   .data_format = axes.op_format()});
  }
  const Output y = conv2d(widened(axes, x), axes.rank == 1 ? expand_dims(kernel, 0) : kernel,
                          {.strides = widened(steps.strides),
                           .padding = padding_from_string(steps.padding),
                           .dilations = widened(steps.dilations),
                           .data_format = axes.op_format()});
  return narrowed(axes, y);
}

Output convolved_depthwise(const SpatialAxes& axes, const Output& x, const Output& kernel,
                           const ConvolutionSteps& steps) {
  const Output y =
      depthwise_conv2d(widened(axes, x), axes.rank == 1 ? expand_dims(kernel, 0) : kernel,
                       {.strides = widened(steps.strides),
                        .padding = padding_from_string(steps.padding),
                        .dilations = widened(steps.dilations),
                        .data_format = axes.op_format()});
  return narrowed(axes, y);
}

}  // namespace systole::keras::layers
