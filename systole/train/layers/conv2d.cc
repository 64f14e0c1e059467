#include "systole/train/layers/layer_scope.h"

namespace systole::layers {

Output conv2d(const Input& inputs, const Conv2DOptions& options) {
  const LayerScope scope(inputs, options.name, "conv2d", options.reuse);
  const Output x = resolve_inputs("conv2d", inputs, 4);
  check_positive("conv2d", "filters", options.filters);
  check_positive("conv2d", "kernel_size", options.kernel_size);
  check_positive("conv2d", "strides", options.strides);
  check_positive("conv2d", "dilation_rate", options.dilation_rate);
  const std::string format = op_data_format("conv2d", options.data_format);
  const int64_t in = known_size("conv2d", x, channels_axis(format));
  const Variable kernel =
      weight("kernel", {options.kernel_size.height, options.kernel_size.width, in, options.filters},
             {.dtype = x.dtype(),
              .initializer = options.kernel_initializer,
              .regularizer = options.kernel_regularizer,
              .trainable = options.trainable});
  const Output y =
      systole::conv2d(x, kernel,
                      {.strides = {options.strides.height, options.strides.width},
                       .padding = options.padding,
                       .dilations = {options.dilation_rate.height, options.dilation_rate.width},
                       .data_format = format});
  return add_bias_and_activate(y, options.filters, options, format);
}

}  // namespace systole::layers
