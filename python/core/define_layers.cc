// tf.layers.
#include "functions.h"
#include "systole/train/layers.h"

namespace systole::python {
namespace {

using namespace layers;  // NOLINT(google-build-using-namespace): this file is about these alone

// The fields that layers with a kernel share.
#define SYSTOLE_KERNEL_FIELDS(O)                                                             \
  field("activation", &O::activation), field("use_bias", &O::use_bias),                      \
      field("kernel_initializer", &O::kernel_initializer),                                   \
      field("bias_initializer", &O::bias_initializer),                                       \
      field("kernel_regularizer", &O::kernel_regularizer),                                   \
      field("bias_regularizer", &O::bias_regularizer), field("trainable", &O::trainable),    \
      field("reuse", &O::reuse)
#define SYSTOLE_WINDOW_FIELDS(O)                                                             \
  field("filters", &O::filters), field("kernel_size", &O::kernel_size),                      \
      field("strides", &O::strides), field("padding", &O::padding),                          \
      field("data_format", &O::data_format)

void define_kernels() {
  function("layers.dense", static_cast<Output (*)(const Input&, const DenseOptions&)>(dense), {"inputs"},
           field("units", &DenseOptions::units), SYSTOLE_KERNEL_FIELDS(DenseOptions));
  using C2 = layers::Conv2DOptions;
  function("layers.conv2d", static_cast<Output (*)(const Input&, const C2&)>(layers::conv2d), {"inputs"},
           SYSTOLE_WINDOW_FIELDS(C2), field("dilation_rate", &C2::dilation_rate), SYSTOLE_KERNEL_FIELDS(C2));
  using C1 = layers::Conv1DOptions;
  function("layers.conv1d", static_cast<Output (*)(const Input&, const C1&)>(layers::conv1d), {"inputs"},
           SYSTOLE_WINDOW_FIELDS(C1), field("dilation_rate", &C1::dilation_rate), SYSTOLE_KERNEL_FIELDS(C1));
  using T2 = layers::Conv2DTransposeOptions;
  function("layers.conv2d_transpose", static_cast<Output (*)(const Input&, const T2&)>(layers::conv2d_transpose),
           {"inputs"}, SYSTOLE_WINDOW_FIELDS(T2), SYSTOLE_KERNEL_FIELDS(T2));
  using S2 = SeparableConv2DOptions;
  function("layers.separable_conv2d", static_cast<Output (*)(const Input&, const S2&)>(layers::separable_conv2d),
           {"inputs"}, SYSTOLE_WINDOW_FIELDS(S2), field("dilation_rate", &S2::dilation_rate),
           field("depth_multiplier", &S2::depth_multiplier), field("activation", &S2::activation),
           field("use_bias", &S2::use_bias), field("depthwise_initializer", &S2::depthwise_initializer),
           field("pointwise_initializer", &S2::pointwise_initializer),
           field("bias_initializer", &S2::bias_initializer), field("trainable", &S2::trainable),
           field("reuse", &S2::reuse));
}

void define_pooling() {
  const auto pool2d = [](const char* name, Output (*f)(const Input&, const Pooling2DOptions&)) {
    function(name, f, {"inputs"}, field("pool_size", &Pooling2DOptions::pool_size),
             field("strides", &Pooling2DOptions::strides), field("padding", &Pooling2DOptions::padding),
             field("data_format", &Pooling2DOptions::data_format));
  };
  pool2d("layers.max_pooling2d", max_pooling2d);
  pool2d("layers.average_pooling2d", average_pooling2d);
  const auto pool1d = [](const char* name, Output (*f)(const Input&, const Pooling1DOptions&)) {
    function(name, f, {"inputs"}, field("pool_size", &Pooling1DOptions::pool_size),
             field("strides", &Pooling1DOptions::strides), field("padding", &Pooling1DOptions::padding),
             field("data_format", &Pooling1DOptions::data_format));
  };
  pool1d("layers.max_pooling1d", max_pooling1d);
  pool1d("layers.average_pooling1d", average_pooling1d);
}

void define_normalisation_layers() {
  using B = layers::BatchNormalizationOptions;
  function("layers.batch_normalization",
           static_cast<Output (*)(const Input&, const B&)>(layers::batch_normalization), {"inputs"},
           field("axis", &B::axis), field("momentum", &B::momentum), field("epsilon", &B::epsilon),
           field("center", &B::center), field("scale", &B::scale), field("beta_initializer", &B::beta_initializer),
           field("gamma_initializer", &B::gamma_initializer),
           field("moving_mean_initializer", &B::moving_mean_initializer),
           field("moving_variance_initializer", &B::moving_variance_initializer),
           field("beta_regularizer", &B::beta_regularizer), field("gamma_regularizer", &B::gamma_regularizer),
           field("training", &B::training), field("trainable", &B::trainable), field("reuse", &B::reuse));
  function("contrib.layers.layer_norm", layer_norm, {"inputs"}, field("center", &LayerNormOptions::center),
           field("scale", &LayerNormOptions::scale), field("activation_fn", &LayerNormOptions::activation_fn),
           field("trainable", &LayerNormOptions::trainable),
           field("begin_norm_axis", &LayerNormOptions::begin_norm_axis),
           field("begin_params_axis", &LayerNormOptions::begin_params_axis), field("scope", &LayerNormOptions::scope),
           field("reuse", &LayerNormOptions::reuse));
  using D = layers::DropoutOptions;
  function("layers.dropout", static_cast<Output (*)(const Input&, const D&)>(layers::dropout), {"inputs"},
           field("rate", &D::rate), field("noise_shape", &D::noise_shape), field("seed", &D::seed),
           field("training", &D::training));
  function("layers.flatten", static_cast<Output (*)(const Input&, const FlattenOptions&)>(flatten), {"inputs"});
}

#undef SYSTOLE_KERNEL_FIELDS
#undef SYSTOLE_WINDOW_FIELDS

}  // namespace

void define_layers() {
  define_kernels();
  define_pooling();
  define_normalisation_layers();
}

}  // namespace systole::python
