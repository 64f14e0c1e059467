#include "systole/graph/ops/nn/convolution_gradient.h"

namespace systole::ops {

extern const OpDef op_depthwise_conv2d_backprop_input{
    .name = "DepthwiseConv2dNativeBackpropInput",
    .doc = "The gradient of DepthwiseConv2dNative by its input.",
    .inputs = "input_sizes: int32, filter: T, out_backprop: T",
    .outputs = "output: T",
    .attrs =
        "strides: list(int), padding: string, data_format: string = 'NHWC', "
        "dilations: list(int) = [1, 1, 1, 1]",
    .infer = infer_backprop_input,
    .lower = lower_backprop_input<ConvolutionKind::depthwise>,
    .gradient = backprop_input_gradient<ConvolutionKind::depthwise>,
};

}  // namespace systole::ops
