#include "systole/graph/ops/nn/convolution_gradient.h"

namespace systole::ops {

extern const OpDef op_depthwise_conv2d_backprop_filter{
    .name = "DepthwiseConv2dNativeBackpropFilter",
    .doc = "The gradient of DepthwiseConv2dNative by its filter.",
    .inputs = "input: T, filter_sizes: int32, out_backprop: T",
    .outputs = "output: T",
    .attrs =
        "strides: list(int), padding: string, data_format: string = 'NHWC', "
        "dilations: list(int) = [1, 1, 1, 1]",
    .infer = infer_backprop_filter,
    .lower = lower_backprop_filter<ConvolutionKind::depthwise>,
    .gradient = backprop_filter_gradient<ConvolutionKind::depthwise>,
};

}  // namespace systole::ops
