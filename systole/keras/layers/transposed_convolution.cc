#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/functions/nn_functions.h"
#include "systole/keras/layers/convolution_layer.h"

namespace systole::keras::layers {
namespace {

ConvTransposeOptions with_checked_output_padding(std::string_view layer, int rank,
                                                 ConvTransposeOptions o) {
  if (o.output_padding.empty()) return o;
  normalize_sizes(layer, "strides", o.strides, rank);
  normalize_sizes(layer, "output_padding", o.output_padding, rank, 0);
  for (size_t i = 0; i < o.strides.values.size(); ++i) {
    if (o.output_padding.values[i] < o.strides.values[i]) continue;
    throw invalid_argument("{}: strides {} must be greater than output padding {}", layer,
                           tuple_text(o.strides.values), tuple_text(o.output_padding.values));
  }
  return o;
}

template <int kRank>
class ConvTransposeLayer
    : public ConvolutionLayer<ConvTransposeLayer<kRank>, ConvTransposeOptions> {
 public:
  static constexpr std::string_view kClassName = kRank == 2 ? "Conv2DTranspose" : "Conv3DTranspose";
  static std::vector<Field<ConvTransposeOptions>> fields() {
    using O = ConvTransposeOptions;
    return {required("filters", &O::filters),
            required("kernel_size", &O::kernel_size),
            field("strides", &O::strides),
            field("padding", &O::padding),
            field("output_padding", &O::output_padding),
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

  explicit ConvTransposeLayer(ConvTransposeOptions options)
      : ConvolutionLayer<ConvTransposeLayer<kRank>, ConvTransposeOptions>(
            kRank, with_checked_output_padding(kClassName, kRank, std::move(options))) {}

  void build(const std::vector<Shape>& input_shapes) override {
    const ConvTransposeOptions& o = this->options_;
    const int64_t in = this->take_channels(input_shapes);
    kernel_ = this->add_kernel("kernel", this->kernel_shape(o.filters, in), o.kernel_initializer,
                               o.kernel_regularizer, o.kernel_constraint);
    this->add_bias(o.filters);
  }

 private:
  Output convolve(CallContext& context, const Output& x) override {
    const ConvTransposeOptions& o = this->options_;
    const Output kernel = context.value(kernel_);
    if constexpr (kRank == 2) {
      return conv2d_transpose(x, kernel, grown_sizes(x),
                              {.strides = o.strides.values,
                               .padding = padding_from_string(o.padding),
                               .dilations = o.dilation_rate.values,
                               .data_format = this->axes_.op_format()});
    } else {
      return conv3d_transpose(x, kernel, grown_sizes(x),
                              {.strides = o.strides.values,
                               .padding = padding_from_string(o.padding),
                               .dilations = o.dilation_rate.values,
                               .data_format = this->axes_.op_format()});
    }
  }

  // The result's size along an axis is the input's times the stride, and this more.
  int64_t surplus(size_t axis) const {
    const ConvTransposeOptions& o = this->options_;
    const int64_t window = effective_window(o.kernel_size, o.dilation_rate)[axis];
    const int64_t stride = o.strides.values[axis];
    const bool same = o.padding == "same";
    if (o.output_padding.empty()) return same ? 0 : std::max<int64_t>(window - stride, 0);
    return window - stride - (same ? window / 2 * 2 : 0) + o.output_padding.values[axis];
  }

  // The shape of the result. The batch and the spatial sizes may be unknown.
  Output grown_sizes(const Output& x) const {
    std::vector<Output> sizes(static_cast<size_t>(kRank) + 2);
    const auto known = [](int64_t size) { return constant(static_cast<int32_t>(size)); };
    sizes[0] = gather(shape(x), 0);
    sizes[this->axes_.channels()] = known(this->options_.filters);
    for (int i = 0; i < kRank; ++i) {
      const int axis = this->axes_.spatial(i);
      const auto stride = static_cast<int32_t>(this->options_.strides.values[i]);
      const auto more = static_cast<int32_t>(surplus(static_cast<size_t>(i)));
      const int64_t size = x.shape()[axis];
      sizes[axis] =
          size >= 0 ? known(size * stride + more) : gather(shape(x), axis) * stride + more;
    }
    return stack(sizes);
  }

  WeightPtr kernel_;
};

template <int kRank>
LayerClass conv_transpose_of_rank(std::vector<std::string> aliases) {
  return layer_class<ConvTransposeLayer<kRank>, ConvTransposeOptions>(std::move(aliases));
}

}  // namespace

LayerClass conv2d_transpose_class() {
  return conv_transpose_of_rank<2>({"Convolution2DTranspose", "Deconvolution2D", "Deconv2D"});
}
LayerClass conv3d_transpose_class() {
  return conv_transpose_of_rank<3>({"Convolution3DTranspose", "Deconvolution3D", "Deconv3D"});
}

template <int kRank>
ConvTranspose<kRank>::ConvTranspose(int64_t filters, Sizes kernel_size,
                                    ConvTransposeOptions options, Where where)
    : Layer([&] {
        options.filters = filters;
        options.kernel_size = std::move(kernel_size);
        return make_layer<ConvTransposeLayer<kRank>>(std::move(options), where);
      }()) {}

template class ConvTranspose<2>;
template class ConvTranspose<3>;

}  // namespace systole::keras::layers
