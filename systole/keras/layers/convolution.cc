#include "systole/keras/layers/convolution_layer.h"

namespace systole::keras::layers {
namespace {

template <int kRank>
class ConvLayer : public ConvolutionLayer<ConvLayer<kRank>, ConvOptions> {
 public:
  static constexpr std::string_view kClassName = kRank == 1   ? "Conv1D"
                                                 : kRank == 2 ? "Conv2D"
                                                              : "Conv3D";
  static std::vector<Field<ConvOptions>> fields() {
    using O = ConvOptions;
    return {required("filters", &O::filters),
            required("kernel_size", &O::kernel_size),
            field("strides", &O::strides),
            field("padding", &O::padding),
            field("data_format", &O::data_format),
            field("dilation_rate", &O::dilation_rate),
            field("activation", &O::activation),
            field("use_bias", &O::use_bias),
            field("kernel_initializer", &O::kernel_initializer),
            field("bias_initializer", &O::bias_initializer),
            field("kernel_regularizer", &O::kernel_regularizer),
            field("bias_regularizer", &O::bias_regularizer),
            field("activity_regularizer", &O::activity_regularizer),
            field("kernel_constraint", &O::kernel_constraint),
            field("bias_constraint", &O::bias_constraint)};
  }

  explicit ConvLayer(ConvOptions options)
      : ConvolutionLayer<ConvLayer<kRank>, ConvOptions>(kRank, std::move(options)) {}

  void build(const std::vector<Shape>& input_shapes) override {
    const ConvOptions& o = this->options_;
    const int64_t in = this->take_channels(input_shapes);
    kernel_ = this->add_kernel("kernel", this->kernel_shape(in, o.filters), o.kernel_initializer,
                               o.kernel_regularizer, o.kernel_constraint);
    this->add_bias(o.filters);
  }

 private:
  Output convolve(CallContext& context, const Output& input) override {
    const auto [x, steps] = this->prepared(input);
    return convolved(this->axes_, x, context.value(kernel_), steps);
  }

  WeightPtr kernel_;
};

}  // namespace

LayerClass conv1d_class() { return layer_class<ConvLayer<1>, ConvOptions>({"Convolution1D"}); }
LayerClass conv2d_class() { return layer_class<ConvLayer<2>, ConvOptions>({"Convolution2D"}); }
LayerClass conv3d_class() { return layer_class<ConvLayer<3>, ConvOptions>({"Convolution3D"}); }

template <int kRank>
Conv<kRank>::Conv(int64_t filters, Sizes kernel_size, ConvOptions options, Where where)
    : Layer([&] {
        options.filters = filters;
        options.kernel_size = std::move(kernel_size);
        return make_layer<ConvLayer<kRank>>(std::move(options), where);
      }()) {}

template class Conv<1>;
template class Conv<2>;
template class Conv<3>;

}  // namespace systole::keras::layers
