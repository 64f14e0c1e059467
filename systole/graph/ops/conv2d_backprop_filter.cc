#include "systole/graph/convolution.h"

namespace systole {
namespace {

enum : int { kInput, kFilterSizes, kGradient };

std::vector<TensorType> infer(const InferContext& c) {
  const auto sizes = c.input_as_shape(kFilterSizes);
  if (!sizes)
    throw invalid_argument("filter_sizes, got a value known only at run time, expected a shape");
  return {{c.input(kGradient).dtype, *sizes}};
}

std::vector<hlo::Value> lower(LowerContext& c) {
  const Shape sizes(c.constant_ints(kFilterSizes));
  return {
      lower_filter_gradient(c, c.input(kInput), sizes, c.input(kGradient), ConvolutionKind::plain)};
}

// Linear in both tensors: its own gradients are the input's gradient and the forward op.
std::vector<Output> gradient(GradientContext& c) {
  const AttrMap& attrs = c.node.attrs();
  Node* const forward = Graph::current().add_node("Conv2D", {c.input(kInput), c.grad()}, attrs);
  return {conv2d_backprop_input(shape(c.input(kInput)), c.grad(), c.input(kGradient), attrs),
          {},
          {forward, 0}};
}

}  // namespace

Output conv2d_backprop_filter(Output input, Output filter_sizes, Output gradient,
                              const AttrMap& attrs) {
  return {Graph::current().add_node("Conv2DBackpropFilter", {input, filter_sizes, gradient}, attrs),
          0};
}

namespace ops {
extern const OpDef op_conv2d_backprop_filter;
const OpDef op_conv2d_backprop_filter{
    .name = "Conv2DBackpropFilter",
    .doc = "The gradient of Conv2D by its filter.",
    .infer = infer,
    .lower = lower,
    .gradient = gradient,
};
}  // namespace ops
}  // namespace systole
