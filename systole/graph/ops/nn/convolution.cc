#include "systole/graph/ops/nn/convolution.h"

#include <numeric>
#include <utility>

#include "systole/graph/core/dtype_class.h"
#include "systole/graph/core/op_error.h"

namespace systole {
namespace {

SpatialWindow window_of(const AttrMap& attrs, const Shape& input, const Shape& filter) {
  const int rank = input.rank();
  if (filter.rank() != rank || (rank != 4 && rank != 5)) {
    throw invalid_argument("input and filter, got {} and {}, expected both of rank 4 or 5", input,
                           filter);
  }
  return spatial_window(attrs, input,
                        std::span(filter.dims()).first(static_cast<size_t>(rank) - 2));
}

// The features of a filter: [.., in, out].
int64_t features_in(const Shape& filter) { return filter[filter.rank() - 2]; }
int64_t features_out(const Shape& filter) { return filter[filter.rank() - 1]; }

// A depthwise filter [.., in, multiplier] as [.., 1, in * multiplier].
Shape grouped_filter(Shape filter) {
  const int rank = filter.rank();
  filter.set_dim(rank - 1, features_in(filter) * features_out(filter));
  filter.set_dim(rank - 2, 1);
  return filter;
}

Dims counting_from(int64_t first, size_t count) {
  Dims dims(count);
  std::iota(dims.begin(), dims.end(), first);
  return dims;
}

// The dimension numbers of a forward convolution; the gradients permute them.
hlo::ConvolutionAttrs dimension_numbers(const DataFormat& format) {
  const auto spatial = static_cast<size_t>(format.num_spatial);
  hlo::ConvolutionAttrs a;
  a.input_batch_dimension = a.output_batch_dimension = DataFormat::kBatch;
  a.input_feature_dimension = a.output_feature_dimension = format.channels;
  a.input_spatial_dimensions = a.output_spatial_dimensions =
      counting_from(format.spatial(0), spatial);
  a.kernel_spatial_dimensions = counting_from(0, spatial);
  a.kernel_input_feature_dimension = format.num_spatial;
  a.kernel_output_feature_dimension = format.num_spatial + 1;
  a.window_strides.assign(spatial, 1);
  a.lhs_dilation.assign(spatial, 1);
  a.rhs_dilation.assign(spatial, 1);
  a.padding.assign(spatial, {0, 0});
  a.window_reversal.assign(spatial, false);
  return a;
}

hlo::Value convolve(LowerContext& c, hlo::Value x, hlo::Value y, hlo::ConvolutionAttrs attrs,
                    Shape shape) {
  const TensorType type{x.dtype(), std::move(shape)};
  return c.b.op(hlo::Opcode::convolution, {x, y}, std::move(attrs), {type})->result();
}

template <class Options>
AttrMap attrs_of(std::string_view op, const Input& input, const Options& options, int num_spatial) {
  return with_op(op, input.where(), [&]() -> AttrMap {
    const DataFormat format(options.data_format, num_spatial);
    return {{"strides", all_sizes(spatial_sizes("strides", options.strides, format), format)},
            {"padding", std::string(padding_name(options.padding))},
            {"dilations", all_sizes(spatial_sizes("dilations", options.dilations, format), format)},
            {"data_format", options.data_format}};
  });
}

}  // namespace

AttrMap convolution_attrs(std::string_view op, const Input& input, const Conv2DOptions& options) {
  return attrs_of(op, input, options, 2);
}

AttrMap convolution_attrs(std::string_view op, const Input& input, const Conv3DOptions& options) {
  return attrs_of(op, input, options, 3);
}

Shape convolution_shape(const AttrMap& attrs, const TensorType& input, const TensorType& filter,
                        ConvolutionKind kind) {
  const int rank = kind == ConvolutionKind::conv3d ? 5 : 4;
  check_dtype("input", input.dtype, DTypeClass::floating);
  if (filter.dtype != input.dtype)
    throw invalid_argument("dtypes, got {} and {}, expected equal", input, filter);
  if (input.shape.rank() != rank) {
    throw invalid_argument("input, got {}, expected rank {}", input, rank);
  }
  if (filter.shape.rank() != rank || !filter.is_static()) {
    throw invalid_argument("filter, got {}, expected rank {} and known sizes", filter, rank);
  }
  const SpatialWindow window = window_of(attrs, input.shape, filter.shape);
  const int64_t channels = input.shape[window.format.channels];
  const int64_t in = features_in(filter.shape);
  if (channels != kUnknown && channels != in) {
    throw invalid_argument("input channels, got {} of input {}, expected {} as filter {} has",
                           channels, input, in, filter);
  }
  const int64_t out = features_out(filter.shape);
  return window.output_shape(input.shape, kind == ConvolutionKind::depthwise ? in * out : out);
}

hlo::Value lower_convolution(LowerContext& c, hlo::Value input, hlo::Value filter,
                             ConvolutionKind kind) {
  const SpatialWindow window = window_of(c.node.attrs(), input.shape(), filter.shape());
  hlo::ConvolutionAttrs a = dimension_numbers(window.format);
  for (size_t i = 0; i < window.axes.size(); ++i) {
    a.window_strides[i] = window.axes[i].stride;
    a.rhs_dilation[i] = window.axes[i].dilation;
    a.padding[i] = window.axes[i].pads();
  }
  const Shape shape = convolution_shape(c.node.attrs(), input.type(), filter.type(), kind);
  if (kind == ConvolutionKind::depthwise) {
    a.feature_group_count = features_in(filter.shape());
    filter = c.b.reshape(filter, grouped_filter(filter.shape()));
  }
  return convolve(c, input, filter, a, shape);
}

// A convolution of the gradient, spread out by the strides, with the filter turned around.
hlo::Value lower_input_gradient(LowerContext& c, const Shape& input, hlo::Value filter,
                                hlo::Value gradient, ConvolutionKind kind) {
  const SpatialWindow window = window_of(c.node.attrs(), input, filter.shape());
  hlo::ConvolutionAttrs a = dimension_numbers(window.format);
  for (size_t i = 0; i < window.axes.size(); ++i) {
    const WindowAxis& axis = window.axes[i];
    const int64_t spread = (axis.output() - 1) * axis.stride + 1;
    const int64_t low = axis.effective_window() - 1 - axis.pads().first;
    a.lhs_dilation[i] = axis.stride;
    a.rhs_dilation[i] = axis.dilation;
    a.padding[i] = {low, axis.input + axis.effective_window() - 1 - spread - low};
    a.window_reversal[i] = true;
  }
  // [.., in, out] with the features' roles swapped; in a depthwise filter they are [.., group,
  // multiplier] already.
  std::swap(a.kernel_input_feature_dimension, a.kernel_output_feature_dimension);
  if (kind == ConvolutionKind::depthwise) a.feature_group_count = features_in(filter.shape());
  return convolve(c, gradient, filter, a, input);
}

// A convolution of the input with the gradient as its filter: batch and features swap roles, and so
// do strides and dilations.
hlo::Value lower_filter_gradient(LowerContext& c, hlo::Value input, const Shape& filter,
                                 hlo::Value gradient, ConvolutionKind kind) {
  const SpatialWindow window = window_of(c.node.attrs(), input.shape(), filter);
  hlo::ConvolutionAttrs a = dimension_numbers(window.format);
  std::swap(a.input_batch_dimension, a.input_feature_dimension);
  a.output_spatial_dimensions = a.kernel_spatial_dimensions;
  a.kernel_spatial_dimensions = a.input_spatial_dimensions;
  a.output_batch_dimension = a.kernel_input_feature_dimension;
  a.output_feature_dimension = a.kernel_output_feature_dimension;
  a.kernel_input_feature_dimension = DataFormat::kBatch;
  a.kernel_output_feature_dimension = window.format.channels;
  for (size_t i = 0; i < window.axes.size(); ++i) {
    const WindowAxis& axis = window.axes[i];
    const int64_t spread = (axis.output() - 1) * axis.stride + 1;
    const int64_t low = axis.pads().first;
    a.window_strides[i] = axis.dilation;
    a.rhs_dilation[i] = axis.stride;
    a.padding[i] = {low, axis.effective_window() - 1 + spread - axis.input - low};
  }
  if (kind != ConvolutionKind::depthwise) return convolve(c, input, gradient, a, filter);
  a.batch_group_count = features_in(filter);
  return c.b.reshape(convolve(c, input, gradient, a, grouped_filter(filter)), filter);
}

}  // namespace systole
