#include "systole/graph/functions/nn_functions.h"
#include "systole/train/layers/layer_scope.h"

namespace systole::layers {
namespace {

int64_t grown_size(int64_t size, int64_t kernel, int64_t stride, Padding padding) {
  return size * stride + (padding == Padding::valid ? std::max<int64_t>(kernel - stride, 0) : 0);
}

// The batch may be unknown.
Output grown_shape(const Output& x, const Conv2DTransposeOptions& options,
                   const std::string& format) {
  const int rows = format == "NHWC" ? 1 : 2;
  const auto grown = [&](int axis, int64_t kernel, int64_t stride) {
    return Input(
        grown_size(known_size("conv2d_transpose", x, axis), kernel, stride, options.padding));
  };
  const Input height = grown(rows, options.kernel_size.height, options.strides.height);
  const Input width = grown(rows + 1, options.kernel_size.width, options.strides.width);
  const Output batch = gather(shape(x), 0);
  const Input filters = options.filters;
  return format == "NHWC" ? stack({batch, height, width, filters})
                          : stack({batch, filters, height, width});
}

}  // namespace

Output conv2d_transpose(const Input& inputs, const Conv2DTransposeOptions& options) {
  constexpr std::string_view kLayer = "conv2d_transpose";
  const LayerScope scope(inputs, options.name, kLayer, options.reuse);
  const Output x = resolve_inputs(kLayer, inputs, 4);
  check_positive(kLayer, "filters", options.filters);
  check_positive(kLayer, "kernel_size", options.kernel_size);
  check_positive(kLayer, "strides", options.strides);
  const std::string format = op_data_format(kLayer, options.data_format);
  const int64_t in = known_size(kLayer, x, channels_axis(format));
  const Variable kernel =
      weight("kernel", {options.kernel_size.height, options.kernel_size.width, options.filters, in},
             {.dtype = x.dtype(),
              .initializer = options.kernel_initializer,
              .regularizer = options.kernel_regularizer,
              .trainable = options.trainable});
  const Output y =
      systole::conv2d_transpose(x, kernel, grown_shape(x, options, format),
                                {.strides = {options.strides.height, options.strides.width},
                                 .padding = options.padding,
                                 .data_format = format});
  return add_bias_and_activate(y, options.filters, options, format);
}

}  // namespace systole::layers
