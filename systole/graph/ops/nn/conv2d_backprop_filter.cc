#include "systole/graph/ops/nn/convolution_gradient.h"

namespace systole::ops {

extern const OpDef op_conv2d_backprop_filter{
    .name = "Conv2DBackpropFilter",
    .doc = "The gradient of Conv2D by its filter.",
    .inputs = "input: T, filter_sizes: int32, out_backprop: T",
    .outputs = "output: T",
    .attrs =
        "strides: list(int), padding: string, data_format: string = 'NHWC', "
        "dilations: list(int) = [1, 1, 1, 1]",
    .infer = infer_backprop_filter,
    .lower = lower_backprop_filter<ConvolutionKind::conv2d>,
    .gradient = backprop_filter_gradient<ConvolutionKind::conv2d>,
};

}  // namespace systole::ops
