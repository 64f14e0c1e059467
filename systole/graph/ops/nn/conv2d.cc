#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/nn/convolution_gradient.h"

namespace systole {

Output conv2d(const Input& input, const Input& filter, const Conv2DOptions& options) {
  return add_op("Conv2D", {input, filter}, options.name,
                convolution_attrs("Conv2D", input, options));
}

namespace ops {
extern const OpDef op_conv2d{
    .name = "Conv2D",
    .doc = "2-D convolution of an image batch with a filter.",
    .inputs = "input: T, filter: T",
    .outputs = "output: T",
    .attrs =
        "strides: list(int), padding: string, data_format: string = 'NHWC', "
        "dilations: list(int) = [1, 1, 1, 1]",
    .infer = infer_convolution<ConvolutionKind::conv2d>,
    .lower = lower_convolution<ConvolutionKind::conv2d>,
    .gradient = convolution_gradient<ConvolutionKind::conv2d>,
};
}  // namespace ops
}  // namespace systole
