#include "systole/keras/layers/convolution_layer.h"

namespace systole::keras::layers {
namespace {

template <int kRank>
class SeparableConvLayer
    : public ConvolutionLayer<SeparableConvLayer<kRank>, SeparableConvOptions> {
 public:
  static constexpr std::string_view kClassName = kRank == 1 ? "SeparableConv1D" : "SeparableConv2D";
  static std::vector<Field<SeparableConvOptions>> fields() {
    using O = SeparableConvOptions;
    return {required("filters", &O::filters),
            required("kernel_size", &O::kernel_size),
            field("strides", &O::strides),
            field("padding", &O::padding),
            field("data_format", &O::data_format),
            field("dilation_rate", &O::dilation_rate),
            field("depth_multiplier", &O::depth_multiplier),
            field("activation", &O::activation),
            field("use_bias", &O::use_bias),
            field("depthwise_initializer", &O::depthwise_initializer),
            field("pointwise_initializer", &O::pointwise_initializer),
            field("bias_initializer", &O::bias_initializer),
            field("depthwise_regularizer", &O::depthwise_regularizer),
            field("pointwise_regularizer", &O::pointwise_regularizer),
            field("bias_regularizer", &O::bias_regularizer),
            field("activity_regularizer", &O::activity_regularizer),
            field("depthwise_constraint", &O::depthwise_constraint),
            field("pointwise_constraint", &O::pointwise_constraint),
            field("bias_constraint", &O::bias_constraint)};
  }

  explicit SeparableConvLayer(SeparableConvOptions options)
      : ConvolutionLayer<SeparableConvLayer<kRank>, SeparableConvOptions>(kRank,
                                                                          std::move(options)) {}

  void build(const std::vector<Shape>& input_shapes) override {
    const SeparableConvOptions& o = this->options_;
    const int64_t in = this->take_channels(input_shapes);
    depthwise_ =
        this->add_kernel("depthwise_kernel", this->kernel_shape(in, o.depth_multiplier),
                         o.depthwise_initializer, o.depthwise_regularizer, o.depthwise_constraint);
    Dims ones(kRank, 1);
    ones.push_back(in * o.depth_multiplier);
    ones.push_back(o.filters);
    pointwise_ =
        this->add_kernel("pointwise_kernel", Shape(std::move(ones)), o.pointwise_initializer,
                         o.pointwise_regularizer, o.pointwise_constraint);
    this->add_bias(o.filters);
  }

 private:
  Output convolve(CallContext& context, const Output& input) override {
    const auto [x, steps] = this->prepared(input);
    const Output each = convolved_depthwise(this->axes_, x, context.value(depthwise_), steps);
    const Sizes ones(std::vector<int64_t>(kRank, 1));
    return convolved(this->axes_, each, context.value(pointwise_), {ones, "valid", ones});
  }

  WeightPtr depthwise_;
  WeightPtr pointwise_;
};

// tf.keras writes the arguments of a kernel that the layer does not have.
template <int kRank>
LayerClass separable_conv_of_rank(std::string alias) {
  LayerClass made =
      layer_class<SeparableConvLayer<kRank>, SeparableConvOptions>({std::move(alias)});
  made.from_config = [from_config = made.from_config](const Json& given) {
    Json config = given;
    for (const char* key : {"kernel_initializer", "kernel_regularizer", "kernel_constraint"}) {
      config.erase(key);
    }
    return from_config(config);
  };
  return made;
}

}  // namespace

LayerClass separable_conv1d_class() { return separable_conv_of_rank<1>("SeparableConvolution1D"); }
LayerClass separable_conv2d_class() { return separable_conv_of_rank<2>("SeparableConvolution2D"); }

template <int kRank>
SeparableConv<kRank>::SeparableConv(int64_t filters, Sizes kernel_size,
                                    SeparableConvOptions options, Where where)
    : Layer([&] {
        options.filters = filters;
        options.kernel_size = std::move(kernel_size);
        return make_layer<SeparableConvLayer<kRank>>(std::move(options), where);
      }()) {}

template class SeparableConv<1>;
template class SeparableConv<2>;

}  // namespace systole::keras::layers
