#include "systole/graph/functions/nn_functions.h"
#include "systole/train/layers/layer_scope.h"

namespace systole::layers {
namespace {

struct Kernels {
  Variable depthwise;
  Variable pointwise;
};

Kernels make_kernels(const Output& x, int64_t in, const SeparableConv2DOptions& options) {
  return {
      weight("depthwise_kernel",
             {options.kernel_size.height, options.kernel_size.width, in, options.depth_multiplier},
             {.dtype = x.dtype(),
              .initializer = options.depthwise_initializer,
              .regularizer = options.depthwise_regularizer,
              .trainable = options.trainable}),
      weight("pointwise_kernel", {1, 1, in * options.depth_multiplier, options.filters},
             {.dtype = x.dtype(),
              .initializer = options.pointwise_initializer,
              .regularizer = options.pointwise_regularizer,
              .trainable = options.trainable})};
}

}  // namespace

Output separable_conv2d(const Input& inputs, const SeparableConv2DOptions& options) {
  constexpr std::string_view kLayer = "separable_conv2d";
  const LayerScope scope(inputs, options.name, kLayer, options.reuse);
  const Output x = resolve_inputs(kLayer, inputs, 4);
  check_positive(kLayer, "filters", options.filters);
  check_positive(kLayer, "kernel_size", options.kernel_size);
  check_positive(kLayer, "strides", options.strides);
  check_positive(kLayer, "dilation_rate", options.dilation_rate);
  check_positive(kLayer, "depth_multiplier", options.depth_multiplier);
  const std::string format = op_data_format(kLayer, options.data_format);
  const Kernels kernels = make_kernels(x, known_size(kLayer, x, channels_axis(format)), options);
  const Output y = systole::separable_conv2d(
      x, kernels.depthwise, kernels.pointwise,
      {.strides = {options.strides.height, options.strides.width},
       .padding = options.padding,
       .dilations = {options.dilation_rate.height, options.dilation_rate.width},
       .data_format = format});
  return add_bias_and_activate(y, options.filters, options, format);
}

}  // namespace systole::layers
