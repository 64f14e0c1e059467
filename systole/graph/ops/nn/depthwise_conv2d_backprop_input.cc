#include "systole/graph/ops/nn/convolution_gradient.h"

namespace systole::ops {

extern const OpDef op_depthwise_conv2d_backprop_input;
const OpDef op_depthwise_conv2d_backprop_input{
    .name = "DepthwiseConv2dNativeBackpropInput",
    .doc = "The gradient of DepthwiseConv2dNative by its input.",
    .infer = infer_backprop_input,
    .lower = lower_backprop_input<ConvolutionKind::depthwise>,
    .gradient = backprop_input_gradient<ConvolutionKind::depthwise>,
};

}  // namespace systole::ops
