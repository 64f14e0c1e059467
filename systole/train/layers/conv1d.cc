#include "systole/graph/functions/nn_functions.h"
#include "systole/train/layers/layer_scope.h"

namespace systole::layers {

Output conv1d(const Input& inputs, const Conv1DOptions& options) {
  const LayerScope scope(inputs, options.name, "conv1d", options.reuse);
  const Output x = resolve_inputs("conv1d", inputs, 3);
  check_positive("conv1d", "filters", options.filters);
  check_positive("conv1d", "kernel_size", options.kernel_size);
  check_positive("conv1d", "strides", options.strides);
  check_positive("conv1d", "dilation_rate", options.dilation_rate);
  const bool channels_last = op_data_format("conv1d", options.data_format) == "NHWC";
  const int64_t in = known_size("conv1d", x, channels_last ? 2 : 1);
  const Variable kernel = weight("kernel", {options.kernel_size, in, options.filters},
                                 {.dtype = x.dtype(),
                                  .initializer = options.kernel_initializer,
                                  .regularizer = options.kernel_regularizer,
                                  .trainable = options.trainable});
  const Output y = systole::conv1d(x, kernel, options.strides,
                                   {.padding = options.padding,
                                    .dilation = options.dilation_rate,
                                    .data_format = channels_last ? "NWC" : "NCW"});
  return add_bias_and_activate(y, options.filters, options, channels_last ? "NHWC" : "NCHW");
}

}  // namespace systole::layers
