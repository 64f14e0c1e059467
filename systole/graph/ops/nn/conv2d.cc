#include "systole/graph/api/node_builder.h"
#include "systole/graph/ops/nn/convolution_gradient.h"

namespace systole {
namespace {

std::vector<TensorType> infer_conv2d(const InferContext& c) {
  return {{c.input(0).dtype,
           convolution_shape(c.attrs, c.input(0), c.input(1), ConvolutionKind::plain)}};
}

std::vector<hlo::Value> lower_conv2d(LowerContext& c) {
  return {lower_convolution(c, c.input(0), c.input(1), ConvolutionKind::plain)};
}

}  // namespace

Output conv2d(const Input& input, const Input& filter, const Conv2DOptions& options) {
  return add_op("Conv2D", {input, filter}, options.name,
                convolution_attrs("Conv2D", input, options));
}

namespace ops {
extern const OpDef op_conv2d;
const OpDef op_conv2d{
    .name = "Conv2D",
    .doc = "2-D convolution of an image batch with a filter.",
    .inputs = "input: T, filter: T",
    .outputs = "output: T",
    .attrs =
        "strides: list(int), padding: string, data_format: string = 'NHWC', "
        "dilations: list(int) = [1, 1, 1, 1]",
    .infer = infer_conv2d,
    .lower = lower_conv2d,
    .gradient = convolution_gradient<ConvolutionKind::plain>,
};
}  // namespace ops
}  // namespace systole
