// The convolutions of nn_functions.h.
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/functions/nn_functions.h"
#include "systole/graph/ops/nn/convolution_gradient.h"

namespace systole {
namespace {

// The gradient of a convolution by its input: a node of `backprop` with the forward op's
// attributes.
template <class Options>
Output transposed(std::string_view op, std::string_view backprop, ConvolutionKind kind,
                  const Input& value, const Input& filter, const ShapeInput& output_shape,
                  const Options& options, const std::string& name) {
  const CompositionScope scope(value, name, op);
  const Output x = resolve_as(op, value, DTypeClass::floating);
  const Output f = resolve(op, filter, x.dtype());
  AttrMap attrs = convolution_attrs(op, value, options);
  attrs.emplace("T", x.dtype());
  const Output given = resolve(op, output_shape);
  // Conv2DBackpropInput takes no other sizes in TensorFlow.
  const Output sizes = kind == ConvolutionKind::conv2d ? cast(given, DType::s32) : given;
  const Output result =
      Graph::current().add_node(backprop, {sizes, f, x}, attrs, {}, scope.result().name)->output();
  with_op(op, value.where(), [&] {
    const Shape made = convolution_shape(attrs, result.type(), f.type(), kind);
    if (made.compatible_with(x.shape())) return;
    throw invalid_argument("value, got {}, expected {}, as {} makes of output_shape {}", x.type(),
                           made, kind == ConvolutionKind::conv3d ? "conv3d" : "conv2d",
                           result.shape());
  });
  return result;
}

}  // namespace

Output conv2d_transpose(const Input& value, const Input& filter, const ShapeInput& output_shape,
                        const Conv2DTransposeOptions& options) {
  const Conv2DOptions forward{.strides = options.strides,
                              .padding = options.padding,
                              .dilations = options.dilations,
                              .data_format = options.data_format};
  return transposed("conv2d_transpose", "Conv2DBackpropInput", ConvolutionKind::conv2d, value,
                    filter, output_shape, forward, options.name);
}

Output conv3d_transpose(const Input& value, const Input& filter, const ShapeInput& output_shape,
                        const Conv3DTransposeOptions& options) {
  const Conv3DOptions forward{.strides = options.strides,
                              .padding = options.padding,
                              .dilations = options.dilations,
                              .data_format = options.data_format};
  return transposed("conv3d_transpose", "Conv3DBackpropInputV2", ConvolutionKind::conv3d, value,
                    filter, output_shape, forward, options.name);
}

// One row of pixels.
Output conv1d(const Input& value, const Input& filters, int64_t stride,
              const Conv1DOptions& options) {
  constexpr std::string_view kOp = "conv1d";
  const CompositionScope scope(value, options.name, kOp);
  const Output x = resolve_as(kOp, value, DTypeClass::floating);
  const Output f = resolve(kOp, filters, x.dtype());
  with_op(kOp, value.where(), [&] {
    if (x.shape().rank() != 3 || f.shape().rank() != 3) {
      throw invalid_argument("value and filters, got {} and {}, expected rank 3", x.type(),
                             f.type());
    }
    if (options.data_format != "NWC" && options.data_format != "NCW") {
      throw invalid_argument("data_format, got '{}', expected 'NWC' or 'NCW'", options.data_format);
    }
  });
  const bool channels_last = options.data_format == "NWC";
  const int64_t row = channels_last ? 1 : 2;
  const Output y = conv2d(expand_dims(x, row), expand_dims(f, 0),
                          {.strides = {1, stride},
                           .padding = options.padding,
                           .dilations = {1, options.dilation},
                           .data_format = channels_last ? "NHWC" : "NCHW"});
  return squeeze(y, {.axis = row, .name = scope.result().name});
}

Output separable_conv2d(const Input& input, const Input& depthwise_filter,
                        const Input& pointwise_filter, const Conv2DOptions& options) {
  constexpr std::string_view kOp = "separable_conv2d";
  const CompositionScope scope(input, options.name, kOp);
  const Output pointwise = resolve(kOp, pointwise_filter, input.dtype());
  with_op(kOp, input.where(), [&] {
    const Shape& f = pointwise.shape();
    if (f.rank() == 4 && f.compatible_with({1, 1, f[2], f[3]})) return;
    throw invalid_argument("pointwise_filter, got {}, expected [1,1,in,out]", pointwise.type());
  });
  Conv2DOptions of_each = options;
  of_each.name.clear();
  const Output spread = depthwise_conv2d(input, depthwise_filter, of_each);
  return conv2d(spread, pointwise,
                {.data_format = options.data_format, .name = scope.result().name});
}

Output atrous_conv2d(const Input& value, const Input& filters, int64_t rate, Padding padding,
                     const NameOptions& options) {
  return conv2d(value, filters,
                {.padding = padding,
                 .dilations = {rate},
                 .name = options.name.empty() ? "atrous_conv2d" : options.name});
}

}  // namespace systole
