#include "systole/graph/ops/nn/convolution.h"

#include "systole/graph/api/op_error.h"
#include "systole/graph/lowering/dtype_class.h"

namespace systole {
namespace {

std::pair<int64_t, int64_t> filter_size(const Shape& filter) { return {filter[0], filter[1]}; }

// The dimension numbers of a forward convolution; the gradients permute them.
hlo::ConvolutionAttrs dimension_numbers(const DataFormat& format) {
  hlo::ConvolutionAttrs a;
  a.input_batch_dimension = a.output_batch_dimension = DataFormat::kBatch;
  a.input_feature_dimension = a.output_feature_dimension = format.channels;
  a.input_spatial_dimensions = a.output_spatial_dimensions = {format.spatial[0], format.spatial[1]};
  a.kernel_spatial_dimensions = {0, 1};
  a.kernel_input_feature_dimension = 2;
  a.kernel_output_feature_dimension = 3;
  a.window_strides = a.lhs_dilation = a.rhs_dilation = {1, 1};
  a.padding = {{0, 0}, {0, 0}};
  a.window_reversal = {false, false};
  return a;
}

hlo::Value convolve(LowerContext& c, hlo::Value x, hlo::Value y, hlo::ConvolutionAttrs attrs,
                    Shape shape) {
  const TensorType type{x.dtype(), std::move(shape)};
  return c.b.op(hlo::Opcode::convolution, {x, y}, std::move(attrs), {type})->result();
}

}  // namespace

AttrMap convolution_attrs(std::string_view op, const Input& input, const Conv2DOptions& options) {
  return with_op(op, input.where(), [&]() -> AttrMap {
    const DataFormat format(options.data_format);
    return {
        {"strides", four_numbers(spatial_pair("strides", options.strides, format), format)},
        {"padding", std::string(padding_name(options.padding))},
        {"dilations", four_numbers(spatial_pair("dilations", options.dilations, format), format)},
        {"data_format", options.data_format}};
  });
}

Shape convolution_shape(const AttrMap& attrs, const TensorType& input, const TensorType& filter,
                        ConvolutionKind kind) {
  check_dtype("input", input.dtype, DTypeClass::floating);
  if (filter.dtype != input.dtype)
    throw invalid_argument("dtypes, got {} and {}, expected equal", input, filter);
  if (input.shape.rank() != 4) throw invalid_argument("input, got {}, expected rank 4", input);
  if (filter.shape.rank() != 4 || !filter.is_static()) {
    throw invalid_argument("filter, got {}, expected rank 4 and known sizes", filter);
  }
  const ImageWindow window = image_window(attrs, input.shape, filter_size(filter.shape));
  const int64_t channels = input.shape[window.format.channels];
  if (channels != kUnknown && channels != filter.shape[2]) {
    throw invalid_argument("input channels, got {} of input {}, expected {} as filter {} has",
                           channels, input, filter.shape[2], filter);
  }
  const int64_t out =
      kind == ConvolutionKind::plain ? filter.shape[3] : filter.shape[2] * filter.shape[3];
  return window.output_shape(input.shape, out);
}

hlo::Value lower_convolution(LowerContext& c, hlo::Value input, hlo::Value filter,
                             ConvolutionKind kind) {
  const ImageWindow window =
      image_window(c.node.attrs(), input.shape(), filter_size(filter.shape()));
  hlo::ConvolutionAttrs a = dimension_numbers(window.format);
  for (size_t i = 0; i < 2; ++i) {
    a.window_strides[i] = window.axis[i].stride;
    a.rhs_dilation[i] = window.axis[i].dilation;
    a.padding[i] = window.axis[i].pads();
  }
  const Shape shape = convolution_shape(c.node.attrs(), input.type(), filter.type(), kind);
  if (kind == ConvolutionKind::depthwise) {
    const Shape& f = filter.shape();
    a.feature_group_count = f[2];
    filter = c.b.reshape(filter, {f[0], f[1], 1, f[2] * f[3]});
  }
  return convolve(c, input, filter, a, shape);
}

// A convolution of the gradient, spread out by the strides, with the filter turned around.
hlo::Value lower_input_gradient(LowerContext& c, const Shape& input, hlo::Value filter,
                                hlo::Value gradient, ConvolutionKind kind) {
  const ImageWindow window = image_window(c.node.attrs(), input, filter_size(filter.shape()));
  hlo::ConvolutionAttrs a = dimension_numbers(window.format);
  for (size_t i = 0; i < 2; ++i) {
    const WindowAxis& axis = window.axis[i];
    const int64_t spread = (axis.output() - 1) * axis.stride + 1;
    const int64_t low = axis.effective_window() - 1 - axis.pads().first;
    a.lhs_dilation[i] = axis.stride;
    a.rhs_dilation[i] = axis.dilation;
    a.padding[i] = {low, axis.input + axis.effective_window() - 1 - spread - low};
    a.window_reversal[i] = true;
  }
  // [h, w, in, out] with the features' roles swapped; in a depthwise filter they are [h, w, group,
  // multiplier] already.
  a.kernel_input_feature_dimension = 3;
  a.kernel_output_feature_dimension = 2;
  if (kind == ConvolutionKind::depthwise) a.feature_group_count = filter.shape()[2];
  return convolve(c, gradient, filter, a, input);
}

// A convolution of the input with the gradient as its filter: batch and features swap roles, and so
// do strides and dilations.
hlo::Value lower_filter_gradient(LowerContext& c, hlo::Value input, const Shape& filter,
                                 hlo::Value gradient, ConvolutionKind kind) {
  const ImageWindow window = image_window(c.node.attrs(), input.shape(), filter_size(filter));
  hlo::ConvolutionAttrs a = dimension_numbers(window.format);
  std::swap(a.input_batch_dimension, a.input_feature_dimension);
  a.kernel_spatial_dimensions = a.input_spatial_dimensions;
  a.kernel_input_feature_dimension = DataFormat::kBatch;
  a.kernel_output_feature_dimension = window.format.channels;
  a.output_spatial_dimensions = {0, 1};
  a.output_batch_dimension = 2;
  a.output_feature_dimension = 3;
  for (size_t i = 0; i < 2; ++i) {
    const WindowAxis& axis = window.axis[i];
    const int64_t spread = (axis.output() - 1) * axis.stride + 1;
    const int64_t low = axis.pads().first;
    a.window_strides[i] = axis.dilation;
    a.rhs_dilation[i] = axis.stride;
    a.padding[i] = {low, axis.effective_window() - 1 + spread - axis.input - low};
  }
  if (kind == ConvolutionKind::plain) return convolve(c, input, gradient, a, filter);
  a.batch_group_count = filter[2];
  const Shape grouped{filter[0], filter[1], 1, filter[2] * filter[3]};
  return c.b.reshape(convolve(c, input, gradient, a, grouped), filter);
}

}  // namespace systole
