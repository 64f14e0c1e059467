#include "systole/keras/layers/convolution_layer.h"

namespace systole::keras::layers {
namespace {

class DepthwiseConv2DLayer : public ConvolutionLayer<DepthwiseConv2DLayer, DepthwiseConv2DOptions> {
 public:
  static constexpr std::string_view kClassName = "DepthwiseConv2D";
  static std::vector<Field<DepthwiseConv2DOptions>> fields() {
    using O = DepthwiseConv2DOptions;
    return {required("kernel_size", &O::kernel_size),
            field("strides", &O::strides),
            field("padding", &O::padding),
            field("data_format", &O::data_format),
            field("dilation_rate", &O::dilation_rate),
            field("activation", &O::activation),
            field("use_bias", &O::use_bias),
            field("bias_initializer", &O::bias_initializer),
            field("bias_regularizer", &O::bias_regularizer),
            field("activity_regularizer", &O::activity_regularizer),
            field("bias_constraint", &O::bias_constraint),
            field("depth_multiplier", &O::depth_multiplier),
            field("depthwise_initializer", &O::depthwise_initializer),
            field("depthwise_regularizer", &O::depthwise_regularizer),
            field("depthwise_constraint", &O::depthwise_constraint)};
  }

  explicit DepthwiseConv2DLayer(DepthwiseConv2DOptions options)
      : ConvolutionLayer(2, std::move(options)) {}

  void build(const std::vector<Shape>& input_shapes) override {
    const int64_t in = take_channels(input_shapes);
    kernel_ = add_kernel("depthwise_kernel", kernel_shape(in, options_.depth_multiplier),
                         options_.depthwise_initializer, options_.depthwise_regularizer,
                         options_.depthwise_constraint);
    add_bias(in * options_.depth_multiplier);
  }

 private:
  Output convolve(CallContext& context, const Output& input) override {
    const auto [x, steps] = prepared(input);
    return convolved_depthwise(axes_, x, context.value(kernel_), steps);
  }

  WeightPtr kernel_;
};

}  // namespace

LayerClass depthwise_conv2d_class() {
  return layer_class<DepthwiseConv2DLayer, DepthwiseConv2DOptions>();
}

DepthwiseConv2D::DepthwiseConv2D(Sizes kernel_size, DepthwiseConv2DOptions options, Where where)
    : Layer([&] {
        options.kernel_size = std::move(kernel_size);
        return make_layer<DepthwiseConv2DLayer>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
