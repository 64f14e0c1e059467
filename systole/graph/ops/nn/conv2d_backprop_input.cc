#include "systole/graph/ops/nn/convolution_gradient.h"

namespace systole::ops {

extern const OpDef op_conv2d_backprop_input{
    .name = "Conv2DBackpropInput",
    .doc = "The gradient of Conv2D by its input.",
    .inputs = "input_sizes: int32, filter: T, out_backprop: T",
    .outputs = "output: T",
    .attrs =
        "strides: list(int), padding: string, data_format: string = 'NHWC', "
        "dilations: list(int) = [1, 1, 1, 1]",
    .infer = infer_backprop_input,
    .lower = lower_backprop_input<ConvolutionKind::conv2d>,
    .gradient = backprop_input_gradient<ConvolutionKind::conv2d>,
};

}  // namespace systole::ops
