#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/nn/convolution_gradient.h"

namespace systole {

Output conv3d(const Input& input, const Input& filter, const Conv3DOptions& options) {
  return add_op("Conv3D", {input, filter}, options.name,
                convolution_attrs("Conv3D", input, options));
}

namespace ops {
extern const OpDef op_conv3d{
    .name = "Conv3D",
    .doc = "3-D convolution of a batch of volumes with a filter.",
    .inputs = "input: T, filter: T",
    .outputs = "output: T",
    .attrs =
        "strides: list(int), padding: string, data_format: string = 'NDHWC', "
        "dilations: list(int) = [1, 1, 1, 1, 1]",
    .infer = infer_convolution<ConvolutionKind::conv3d>,
    .lower = lower_convolution<ConvolutionKind::conv3d>,
    .gradient = convolution_gradient<ConvolutionKind::conv3d>,
};
}  // namespace ops
}  // namespace systole
