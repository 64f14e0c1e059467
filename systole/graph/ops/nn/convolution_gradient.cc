#include "systole/graph/ops/nn/convolution_gradient.h"

#include "systole/graph/core/dtype_class.h"

namespace systole {
namespace {

// The inputs of the two gradient ops; one of the first two is the sizes of what is computed.
enum : int { kInput, kFilter, kGradient };

// The names of the three ops of a kind.
struct Names {
  std::string_view forward;
  std::string_view backprop_input;
  std::string_view backprop_filter;
};

const Names& names_of(ConvolutionKind kind) {
  static constexpr Names kNames[] = {{"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"},
                                     {"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
                                      "DepthwiseConv2dNativeBackpropFilter"},
                                     {"Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"}};
  return kNames[static_cast<size_t>(kind)];
}

// One of the three ops, with the attributes of the one that is differentiated.
Output add_alike(const GradientContext& c, std::string_view op, std::vector<Output> inputs) {
  return {Graph::current().add_node(op, std::move(inputs), c.node.attrs()), 0};
}

std::vector<TensorType> infer_sizes(const InferContext& c, int input, std::string_view name) {
  const DType dtype = c.input(kGradient).dtype;
  check_dtype("gradient", dtype, DTypeClass::floating);
  const TensorType& other = c.input(input == kInput ? kFilter : kInput);
  if (other.dtype != dtype) {
    throw invalid_argument("dtypes, got {} and {}, expected equal", other, c.input(kGradient));
  }
  const auto sizes = c.input_as_shape(input);
  if (!sizes) {
    throw invalid_argument("{}, got a value known only at run time, expected a shape", name);
  }
  return {{dtype, *sizes}};
}

}  // namespace

std::vector<Output> convolution_gradient(GradientContext& c, ConvolutionKind kind) {
  const Names& names = names_of(kind);
  const Output input = c.input(kInput);
  const Output filter = c.input(kFilter);
  return {add_alike(c, names.backprop_input, {shape(input), filter, c.grad()}),
          add_alike(c, names.backprop_filter, {input, shape(filter), c.grad()})};
}

std::vector<TensorType> infer_backprop_input(const InferContext& c) {
  return infer_sizes(c, kInput, "input_sizes");
}

std::vector<hlo::Value> lower_backprop_input(LowerContext& c, ConvolutionKind kind) {
  const Shape sizes(c.constant_ints(kInput));
  return {lower_input_gradient(c, sizes, c.input(kFilter), c.input(kGradient), kind)};
}

std::vector<Output> backprop_input_gradient(GradientContext& c, ConvolutionKind kind) {
  const Names& names = names_of(kind);
  const Output filter = c.input(kFilter);
  return {{},
          add_alike(c, names.backprop_filter, {c.grad(), shape(filter), c.input(kGradient)}),
          add_alike(c, names.forward, {c.grad(), filter})};
}

std::vector<TensorType> infer_backprop_filter(const InferContext& c) {
  return infer_sizes(c, kFilter, "filter_sizes");
}

std::vector<hlo::Value> lower_backprop_filter(LowerContext& c, ConvolutionKind kind) {
  const Shape sizes(c.constant_ints(kFilter));
  return {lower_filter_gradient(c, c.input(kInput), sizes, c.input(kGradient), kind)};
}

std::vector<Output> backprop_filter_gradient(GradientContext& c, ConvolutionKind kind) {
  const Names& names = names_of(kind);
  const Output input = c.input(kInput);
  return {add_alike(c, names.backprop_input, {shape(input), c.grad(), c.input(kGradient)}),
          {},
          add_alike(c, names.forward, {input, c.grad()})};
}

}  // namespace systole
