// Conv2D, DepthwiseConv2dNative and Conv3D with the ops that compute their gradients, TensorFlow's
// Conv2DBackpropInput and so on. The kinds differ in their names and in `kind` alone. All of them
// are linear in both tensors, so that each one's gradients are the other two.
#pragma once

#include "systole/graph/ops/nn/convolution.h"

namespace systole {

// The forward op: (input, filter).
std::vector<Output> convolution_gradient(GradientContext& c, ConvolutionKind kind);

// (input sizes, filter, gradient) -> the gradient by the input.
std::vector<TensorType> infer_backprop_input(const InferContext& c);
std::vector<hlo::Value> lower_backprop_input(LowerContext& c, ConvolutionKind kind);
std::vector<Output> backprop_input_gradient(GradientContext& c, ConvolutionKind kind);

// (input, filter sizes, gradient) -> the gradient by the filter.
std::vector<TensorType> infer_backprop_filter(const InferContext& c);
std::vector<hlo::Value> lower_backprop_filter(LowerContext& c, ConvolutionKind kind);
std::vector<Output> backprop_filter_gradient(GradientContext& c, ConvolutionKind kind);

// The same as functions for an OpDef.
template <ConvolutionKind kKind>
std::vector<TensorType> infer_convolution(const InferContext& c) {
  return {{c.input(0).dtype, convolution_shape(c.attrs, c.input(0), c.input(1), kKind)}};
}
template <ConvolutionKind kKind>
std::vector<hlo::Value> lower_convolution(LowerContext& c) {
  return {lower_convolution(c, c.input(0), c.input(1), kKind)};
}
template <ConvolutionKind kKind>
std::vector<Output> convolution_gradient(GradientContext& c) {
  return convolution_gradient(c, kKind);
}
template <ConvolutionKind kKind>
std::vector<hlo::Value> lower_backprop_input(LowerContext& c) {
  return lower_backprop_input(c, kKind);
}
template <ConvolutionKind kKind>
std::vector<Output> backprop_input_gradient(GradientContext& c) {
  return backprop_input_gradient(c, kKind);
}
template <ConvolutionKind kKind>
std::vector<hlo::Value> lower_backprop_filter(LowerContext& c) {
  return lower_backprop_filter(c, kKind);
}
template <ConvolutionKind kKind>
std::vector<Output> backprop_filter_gradient(GradientContext& c) {
  return backprop_filter_gradient(c, kKind);
}

}  // namespace systole
