#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/nn/convolution_gradient.h"

namespace systole {

Output depthwise_conv2d(const Input& input, const Input& filter, const Conv2DOptions& options) {
  constexpr std::string_view kOp = "DepthwiseConv2dNative";
  return add_op(kOp, {input, filter}, options.name.empty() ? "depthwise" : options.name,
                convolution_attrs(kOp, input, options));
}

namespace ops {
extern const OpDef op_depthwise_conv2d{
    .name = "DepthwiseConv2dNative",
    .doc = "2-D convolution of each channel with filters of its own.",
    .inputs = "input: T, filter: T",
    .outputs = "output: T",
    .attrs =
        "strides: list(int), padding: string, data_format: string = 'NHWC', "
        "dilations: list(int) = [1, 1, 1, 1]",
    .infer = infer_convolution<ConvolutionKind::depthwise>,
    .lower = lower_convolution<ConvolutionKind::depthwise>,
    .gradient = convolution_gradient<ConvolutionKind::depthwise>,
};
}  // namespace ops
}  // namespace systole
