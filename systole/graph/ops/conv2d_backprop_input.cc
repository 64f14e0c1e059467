#include "systole/graph/composition.h"
#include "systole/graph/convolution_gradient.h"
#include "systole/graph/nn_functions.h"
#include "systole/graph/op_error.h"

namespace systole {

Output conv2d_transpose(Input value, Input filter, const ShapeInput& output_shape,
                        const Conv2DTransposeOptions& options) {
  constexpr std::string_view kOp = "conv2d_transpose";
  const CompositionScope scope(value, options.name, kOp);
  const Output x = resolve_as(kOp, value, DTypeClass::floating);
  const Output f = resolve(kOp, filter, x.dtype());
  AttrMap attrs = convolution_attrs(
      kOp, value,
      {.strides = options.strides, .padding = options.padding, .data_format = options.data_format});
  attrs.emplace("T", x.dtype());
  const Output sizes = resolve(kOp, output_shape);
  const Output result =
      Graph::current()
          .add_node("Conv2DBackpropInput", {sizes, f, x}, attrs, {}, scope.result().name)
          ->output();
  with_op(kOp, value.where(), [&] {
    const Shape made = convolution_shape(attrs, result.type(), f.type(), ConvolutionKind::plain);
    if (made.compatible_with(x.shape())) return;
    throw invalid_argument("value, got {}, expected {}, as conv2d makes of output_shape {}",
                           x.type(), made, result.shape());
  });
  return result;
}

namespace ops {

extern const OpDef op_conv2d_backprop_input;
const OpDef op_conv2d_backprop_input{
    .name = "Conv2DBackpropInput",
    .doc = "The gradient of Conv2D by its input.",
    .infer = infer_backprop_input,
    .lower = lower_backprop_input<ConvolutionKind::plain>,
    .gradient = backprop_input_gradient<ConvolutionKind::plain>,
};

}  // namespace ops
}  // namespace systole
