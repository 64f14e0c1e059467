#include "systole/graph/ops/nn/convolution_gradient.h"

namespace systole::ops {

extern const OpDef op_depthwise_conv2d_backprop_filter;
const OpDef op_depthwise_conv2d_backprop_filter{
    .name = "DepthwiseConv2dNativeBackpropFilter",
    .doc = "The gradient of DepthwiseConv2dNative by its filter.",
    .infer = infer_backprop_filter,
    .lower = lower_backprop_filter<ConvolutionKind::depthwise>,
    .gradient = backprop_filter_gradient<ConvolutionKind::depthwise>,
};

}  // namespace systole::ops
