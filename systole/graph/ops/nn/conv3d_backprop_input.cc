#include "systole/graph/ops/nn/convolution_gradient.h"

namespace systole::ops {

extern const OpDef op_conv3d_backprop_input{
    .name = "Conv3DBackpropInputV2",
    .doc = "The gradient of Conv3D by its input.",
    .inputs = "input_sizes: Tshape, filter: T, out_backprop: T",
    .outputs = "output: T",
    .attrs =
        "strides: list(int), padding: string, data_format: string = 'NDHWC', "
        "dilations: list(int) = [1, 1, 1, 1, 1]",
    .infer = infer_backprop_input,
    .lower = lower_backprop_input<ConvolutionKind::conv3d>,
    .gradient = backprop_input_gradient<ConvolutionKind::conv3d>,
};

}  // namespace systole::ops
