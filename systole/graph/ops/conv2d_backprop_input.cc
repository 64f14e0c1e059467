#include "systole/graph/convolution.h"

namespace systole {
namespace {

enum : int { kInputSizes, kFilter, kGradient };

std::vector<TensorType> infer(const InferContext& c) {
  const auto sizes = c.input_as_shape(kInputSizes);
  if (!sizes)
    throw invalid_argument("input_sizes, got a value known only at run time, expected a shape");
  return {{c.input(kGradient).dtype, *sizes}};
}

std::vector<hlo::Value> lower(LowerContext& c) {
  const Shape sizes(c.constant_ints(kInputSizes));
  return {
      lower_input_gradient(c, sizes, c.input(kFilter), c.input(kGradient), ConvolutionKind::plain)};
}

// Linear in both tensors: its own gradients are the forward op and the filter's gradient.
std::vector<Output> gradient(GradientContext& c) {
  const AttrMap& attrs = c.node.attrs();
  Node* const forward = Graph::current().add_node("Conv2D", {c.grad(), c.input(kFilter)}, attrs);
  return {{},
          conv2d_backprop_filter(c.grad(), shape(c.input(kFilter)), c.input(kGradient), attrs),
          {forward, 0}};
}

}  // namespace

Output conv2d_backprop_input(Output input_sizes, Output filter, Output gradient,
                             const AttrMap& attrs) {
  return {Graph::current().add_node("Conv2DBackpropInput", {input_sizes, filter, gradient}, attrs),
          0};
}

namespace ops {
extern const OpDef op_conv2d_backprop_input;
const OpDef op_conv2d_backprop_input{
    .name = "Conv2DBackpropInput",
    .doc = "The gradient of Conv2D by its input.",
    .infer = infer,
    .lower = lower,
    .gradient = gradient,
};
}  // namespace ops
}  // namespace systole
