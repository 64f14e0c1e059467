// tf.nn.
#include "functions.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/functions/nn_functions.h"

namespace systole::python {
namespace {

using CrossEntropy = Output (*)(const CrossEntropyOptions&);

// labels, logits: one dtype, as that of the tensor among them.
template <CrossEntropy kFunction>
Output cross_entropy(const Input& labels, const Input& logits, std::optional<int64_t> axis, const NameOptions& options) {
  return kFunction({.labels = labels, .logits = logits, .axis = axis.value_or(-1), .name = options.name});
}

template <CrossEntropy kFunction>
void define_cross_entropy(const char* name) {
  function(name, cross_entropy<kFunction>, {"labels", "logits", "axis"});
}

void define_softmax() {
  function("nn.softmax", static_cast<Output (*)(const Input&, const SoftmaxOptions&)>(softmax), {"logits"},
           field("axis", &SoftmaxOptions::axis));
  function("nn.log_softmax", static_cast<Output (*)(const Input&, const SoftmaxOptions&)>(log_softmax), {"logits"},
           field("axis", &SoftmaxOptions::axis));
  define_cross_entropy<softmax_cross_entropy_with_logits>("nn.softmax_cross_entropy_with_logits");
  define_cross_entropy<softmax_cross_entropy_with_logits_v2>("nn.softmax_cross_entropy_with_logits_v2");
  define_cross_entropy<sparse_softmax_cross_entropy_with_logits>("nn.sparse_softmax_cross_entropy_with_logits");
  define_cross_entropy<sigmoid_cross_entropy_with_logits>("nn.sigmoid_cross_entropy_with_logits");
  function("nn.weighted_cross_entropy_with_logits",
           +[](const Input& targets, const Input& logits, const Input& pos_weight, const NameOptions& options) {
             return weighted_cross_entropy_with_logits(
                 {.targets = targets, .logits = logits, .pos_weight = pos_weight, .name = options.name});
           },
           {"targets", "logits", "pos_weight"});
  function("nn.in_top_k", in_top_k, {"predictions", "targets", "k"}).with_types("predictions: float32, targets: T");
}

void define_windows() {
  const auto conv = [](const char* name, Output (*f)(const Input&, const Input&, const Conv2DOptions&)) {
    function(name, f, {"input", "filter"}, field("strides", &Conv2DOptions::strides),
             field("padding", &Conv2DOptions::padding), field("dilations", &Conv2DOptions::dilations),
             field("data_format", &Conv2DOptions::data_format));
  };
  conv("nn.conv2d", conv2d);
  conv("nn.depthwise_conv2d", depthwise_conv2d);
  function("nn.conv3d", static_cast<Output (*)(const Input&, const Input&, const Conv3DOptions&)>(conv3d),
           {"input", "filter"}, field("strides", &Conv3DOptions::strides), field("padding", &Conv3DOptions::padding),
           field("dilations", &Conv3DOptions::dilations), field("data_format", &Conv3DOptions::data_format));
  function("nn.conv1d", conv1d, {"value", "filters", "stride"}, field("padding", &Conv1DOptions::padding),
           field("data_format", &Conv1DOptions::data_format));
  function("nn.conv2d_transpose", conv2d_transpose, {"value", "filter", "output_shape"},
           field("strides", &Conv2DTransposeOptions::strides), field("padding", &Conv2DTransposeOptions::padding),
           field("data_format", &Conv2DTransposeOptions::data_format));
  function("nn.separable_conv2d", separable_conv2d, {"input", "depthwise_filter", "pointwise_filter"},
           field("strides", &Conv2DOptions::strides), field("padding", &Conv2DOptions::padding),
           field("data_format", &Conv2DOptions::data_format));
  function("nn.atrous_conv2d", atrous_conv2d, {"value", "filters", "rate", "padding"});
  const auto pool = [](const char* name, Output (*f)(const Input&, const PoolOptions&)) {
    function(name, f, {"value"}, field("ksize", &PoolOptions::ksize), field("strides", &PoolOptions::strides),
             field("padding", &PoolOptions::padding), field("data_format", &PoolOptions::data_format));
  };
  pool("nn.max_pool", max_pool);
  pool("nn.avg_pool", avg_pool);
  const auto pool3d = [](const char* name, Output (*f)(const Input&, const Pool3DOptions&)) {
    function(name, f, {"input"}, field("ksize", &Pool3DOptions::ksize), field("strides", &Pool3DOptions::strides),
             field("padding", &Pool3DOptions::padding), field("data_format", &Pool3DOptions::data_format));
  };
  pool3d("nn.max_pool3d", max_pool3d);
  pool3d("nn.avg_pool3d", avg_pool3d);
  function("nn.bias_add", bias_add, {"value", "bias"}, field("data_format", &BiasAddOptions::data_format));
}

void define_normalisation() {
  function("nn.moments", static_cast<Moments (*)(const Input&, const Axes&, const MomentsOptions&)>(moments),
           {"x", "axes"}, field("keepdims", &MomentsOptions::keep_dims));
  function("nn.batch_normalization", batch_normalization, {"x", "mean", "variance"},
           field("offset", &BatchNormalizationOptions::offset), field("scale", &BatchNormalizationOptions::scale),
           field("variance_epsilon", &BatchNormalizationOptions::variance_epsilon));
  function("nn.fused_batch_norm", fused_batch_norm, {"x", "scale", "offset"},
           field("mean", &FusedBatchNormOptions::mean), field("variance", &FusedBatchNormOptions::variance),
           field("epsilon", &FusedBatchNormOptions::epsilon),
           field("data_format", &FusedBatchNormOptions::data_format),
           field("is_training", &FusedBatchNormOptions::is_training));
  function("nn.l2_normalize",
           static_cast<Output (*)(const Input&, const Axes&, const L2NormalizeOptions&)>(l2_normalize), {"x", "axis"},
           field("epsilon", &L2NormalizeOptions::epsilon));
  function("nn.local_response_normalization", local_response_normalization, {"input"},
           field("depth_radius", &LocalResponseNormalizationOptions::depth_radius),
           field("bias", &LocalResponseNormalizationOptions::bias),
           field("alpha", &LocalResponseNormalizationOptions::alpha),
           field("beta", &LocalResponseNormalizationOptions::beta));
}

}  // namespace

void define_nn() {
  define_softmax();
  define_windows();
  define_normalisation();
  function("nn.dropout", static_cast<Output (*)(const Input&, const Input&, const DropoutOptions&)>(dropout),
           {"x", "keep_prob"}, field("noise_shape", &DropoutOptions::noise_shape),
           field("seed", &DropoutOptions::seed));
  function("nn.embedding_lookup",
           static_cast<Output (*)(const Input&, const Input&, const NameOptions&)>(embedding_lookup),
           {"params", "ids"})
      .with_types("params: T, ids: Tindices");
  function("nn.xw_plus_b", xw_plus_b, {"x", "weights", "biases"});
  function("nn.relu_layer", relu_layer, {"x", "weights", "biases"});
  function("log_sigmoid", log_sigmoid, {"x"});
  function("nn.swish", swish, {"features"});
  function("nn.crelu", crelu, {"features"});
  function("nn.zero_fraction", zero_fraction, {"value"});
}

}  // namespace systole::python
