// Convolutions. (tf.keras.layers)
//
//   st::keras::layers::Conv2D(32, {3, 3}, {.padding = "same", .activation = "relu"})
//
// Common to all:
//   * Sizes are one number for all spatial axes, or one for each.
//   * padding is "valid" or "same"; data_format "channels_last" (the default) or "channels_first".
//     Neither changes the shapes of weights.
//   * Along an axis of size n, with kernel size k, stride s, dilation d and k' = (k - 1) d + 1, the
//     result has ceil((n - k' + 1) / s) elements (valid) or ceil(n / s) (same).
//   * Errors: INVALID_ARGUMENT for another number of sizes, sizes below 1, strides together with
//     dilation, an unknown number of channels, a kernel that is larger than its input (valid).
//   * A mask is refused.
#pragma once

#include <concepts>
#include <initializer_list>

#include "systole/keras/base/fields.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {

struct ConvOptions {
  int64_t filters = 0;     // required
  Sizes kernel_size = {};  // required
  Sizes strides = 1;
  std::string padding = "valid";  // or "same"; "causal" for Conv1D: no step depends on later ones
  std::optional<std::string> data_format = std::nullopt;
  Sizes dilation_rate = 1;
  keras::Activation activation = nullptr;
  bool use_bias = true;
  InitializerSpec kernel_initializer = "glorot_uniform";
  InitializerSpec bias_initializer = "zeros";
  RegularizerSpec kernel_regularizer = nullptr;
  RegularizerSpec bias_regularizer = nullptr;
  RegularizerSpec activity_regularizer = nullptr;
  ConstraintSpec kernel_constraint = nullptr;
  ConstraintSpec bias_constraint = nullptr;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::vector<Tensor> weights = {};  // the first ones, in the order of the layer
  std::string name = {};
  bool trainable = true;
};
// [batch, sizes.., in] -> [batch, sizes'.., filters]. Weights: kernel [kernel sizes.., in,
// filters], bias [filters].
template <int kRank>
class Conv : public Layer {
 public:
  explicit Conv(int64_t filters, Sizes kernel_size, ConvOptions options = {},
                Where where = Where::current());
  // Conv2D(64, {3, 3}, {2, 2}), Conv2D(64, 3, 2): with strides.
  template <std::integral Stride>
  Conv(int64_t filters, Sizes kernel_size, std::initializer_list<Stride> strides,
       ConvOptions options = {}, Where where = Where::current())
      : Conv(filters, std::move(kernel_size), with_strides(std::move(options), strides), where) {}
  template <std::integral Stride>
  Conv(int64_t filters, Sizes kernel_size, Stride strides, ConvOptions options = {},
       Where where = Where::current())
      : Conv(filters, std::move(kernel_size), with_strides(std::move(options), strides), where) {}
  // Conv2D(64, {3, 3}, {1, 1}, "same"): with padding.
  template <std::integral Stride>
  Conv(int64_t filters, Sizes kernel_size, std::initializer_list<Stride> strides,
       const char* padding, ConvOptions options = {}, Where where = Where::current())
      : Conv(filters, std::move(kernel_size),
             with_strides(padded(std::move(options), padding), strides), where) {}
  template <std::integral Stride>
  Conv(int64_t filters, Sizes kernel_size, Stride strides, const char* padding,
       ConvOptions options = {}, Where where = Where::current())
      : Conv(filters, std::move(kernel_size),
             with_strides(padded(std::move(options), padding), strides), where) {}

 private:
  static ConvOptions padded(ConvOptions options, const char* padding) {
    options.padding = padding;
    return options;
  }
};
using Conv1D = Conv<1>;
using Conv2D = Conv<2>;
using Conv3D = Conv<3>;

struct ConvTransposeOptions {
  int64_t filters = 0;     // required
  Sizes kernel_size = {};  // required
  Sizes strides = 1;
  std::string padding = "valid";
  // Elements added at the end of each axis, fewer than the stride; tells apart the sizes that a
  // convolution takes to one size.
  Sizes output_padding = {};
  std::optional<std::string> data_format = std::nullopt;
  Sizes dilation_rate = 1;
  keras::Activation activation = nullptr;
  bool use_bias = true;
  InitializerSpec kernel_initializer = "glorot_uniform";
  InitializerSpec bias_initializer = "zeros";
  RegularizerSpec kernel_regularizer = nullptr;
  RegularizerSpec bias_regularizer = nullptr;
  RegularizerSpec activity_regularizer = nullptr;
  ConstraintSpec kernel_constraint = nullptr;
  ConstraintSpec bias_constraint = nullptr;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::vector<Tensor> weights = {};  // the first ones, in the order of the layer
  std::string name = {};
  bool trainable = true;
};
// The gradient of a convolution by its input, as a layer. An axis of size n becomes n s + max(k' -
// s, 0) (valid) or n s (same); with output_padding p, (n - 1) s + k' + p (valid) or (n - 1) s + k'
// - 2 floor(k' / 2) + p (same). Weights: kernel [kernel sizes.., filters, in], bias [filters].
template <int kRank>
class ConvTranspose : public Layer {
 public:
  explicit ConvTranspose(int64_t filters, Sizes kernel_size, ConvTransposeOptions options = {},
                         Where where = Where::current());
  template <std::integral Stride>
  ConvTranspose(int64_t filters, Sizes kernel_size, std::initializer_list<Stride> strides,
                ConvTransposeOptions options = {}, Where where = Where::current())
      : ConvTranspose(filters, std::move(kernel_size), with_strides(std::move(options), strides),
                      where) {}
  template <std::integral Stride>
  ConvTranspose(int64_t filters, Sizes kernel_size, Stride strides,
                ConvTransposeOptions options = {}, Where where = Where::current())
      : ConvTranspose(filters, std::move(kernel_size), with_strides(std::move(options), strides),
                      where) {}
};
using Conv2DTranspose = ConvTranspose<2>;
using Conv3DTranspose = ConvTranspose<3>;

struct SeparableConvOptions {
  int64_t filters = 0;     // required
  Sizes kernel_size = {};  // required
  Sizes strides = 1;
  std::string padding = "valid";  // or "same"; "causal" for SeparableConv1D
  std::optional<std::string> data_format = std::nullopt;
  Sizes dilation_rate = 1;
  int64_t depth_multiplier = 1;
  keras::Activation activation = nullptr;
  bool use_bias = true;
  InitializerSpec depthwise_initializer = "glorot_uniform";
  InitializerSpec pointwise_initializer = "glorot_uniform";
  InitializerSpec bias_initializer = "zeros";
  RegularizerSpec depthwise_regularizer = nullptr;
  RegularizerSpec pointwise_regularizer = nullptr;
  RegularizerSpec bias_regularizer = nullptr;
  RegularizerSpec activity_regularizer = nullptr;
  ConstraintSpec depthwise_constraint = nullptr;
  ConstraintSpec pointwise_constraint = nullptr;
  ConstraintSpec bias_constraint = nullptr;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::vector<Tensor> weights = {};  // the first ones, in the order of the layer
  std::string name = {};
  bool trainable = true;
};
// A convolution of each channel by itself, then one of kernel size 1 over all channels. Weights:
// depthwise_kernel [kernel sizes.., in, multiplier], pointwise_kernel [1.., in * multiplier,
// filters], bias [filters].
template <int kRank>
class SeparableConv : public Layer {
 public:
  explicit SeparableConv(int64_t filters, Sizes kernel_size, SeparableConvOptions options = {},
                         Where where = Where::current());
  template <std::integral Stride>
  SeparableConv(int64_t filters, Sizes kernel_size, std::initializer_list<Stride> strides,
                SeparableConvOptions options = {}, Where where = Where::current())
      : SeparableConv(filters, std::move(kernel_size), with_strides(std::move(options), strides),
                      where) {}
  template <std::integral Stride>
  SeparableConv(int64_t filters, Sizes kernel_size, Stride strides,
                SeparableConvOptions options = {}, Where where = Where::current())
      : SeparableConv(filters, std::move(kernel_size), with_strides(std::move(options), strides),
                      where) {}
};
using SeparableConv1D = SeparableConv<1>;
using SeparableConv2D = SeparableConv<2>;

struct DepthwiseConv2DOptions {
  Sizes kernel_size = {};  // required
  Sizes strides = 1;
  std::string padding = "valid";
  int64_t depth_multiplier = 1;
  std::optional<std::string> data_format = std::nullopt;
  Sizes dilation_rate = 1;
  keras::Activation activation = nullptr;
  bool use_bias = true;
  InitializerSpec depthwise_initializer = "glorot_uniform";
  InitializerSpec bias_initializer = "zeros";
  RegularizerSpec depthwise_regularizer = nullptr;
  RegularizerSpec bias_regularizer = nullptr;
  RegularizerSpec activity_regularizer = nullptr;
  ConstraintSpec depthwise_constraint = nullptr;
  ConstraintSpec bias_constraint = nullptr;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::vector<Tensor> weights = {};  // the first ones, in the order of the layer
  std::string name = {};
  bool trainable = true;
};
// The first half of SeparableConv2D: [batch, height, width, in] -> [batch, height', width', in *
// multiplier]. Weights: depthwise_kernel [height, width, in, multiplier], bias [in * multiplier].
class DepthwiseConv2D : public Layer {
 public:
  explicit DepthwiseConv2D(Sizes kernel_size, DepthwiseConv2DOptions options = {},
                           Where where = Where::current());
};

// Keras's other names.
using Convolution1D = Conv1D;
using Convolution2D = Conv2D;
using Convolution3D = Conv3D;
using Convolution2DTranspose = Conv2DTranspose;
using Convolution3DTranspose = Conv3DTranspose;
using Deconvolution2D = Conv2DTranspose;
using Deconv2D = Conv2DTranspose;
using Deconvolution3D = Conv3DTranspose;
using Deconv3D = Conv3DTranspose;
using SeparableConvolution1D = SeparableConv1D;
using SeparableConvolution2D = SeparableConv2D;

}  // namespace systole::keras::layers
