// Layers: functions that create variables and apply them. (tf.layers)
//
// Common to all:
//   * Defaults, variable names and variable shapes are TensorFlow's: the first conv2d has
//     "conv2d/kernel" and "conv2d/bias", the next "conv2d_1/kernel". A given `name` is used
//     unchanged: a second layer of that name is an error, unless `reuse` or the enclosing variable
//     scope shares variables.
//   * Dimensions that determine the shape of a variable must be known.
//   * Nodes carry the source line of the layer's caller.
//   * Errors: INVALID_ARGUMENT `<layer>: <what>, got <value>, expected <value>, at <file>:<line>`.
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "systole/graph/api/nn_ops.h"
#include "systole/graph/core/graph.h"
#include "systole/graph/functions/variable_scope.h"
#include "systole/graph/initializers/initializers.h"
#include "systole/train/regularizers/regularizers.h"

namespace systole::layers {

// The function applied to a layer's result: st::relu, st::softmax, a lambda, or none.
class Activation {
 public:
  Activation() = default;
  Activation(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): None
  template <class In, class Options>
  Activation(Output (*f)(In, const Options&))  // NOLINT(google-explicit-constructor)
      : function_([f](const Output& x) { return f(x, Options{}); }) {}
  template <std::invocable<Output> F>
  Activation(F f) : function_(std::move(f)) {}  // NOLINT(google-explicit-constructor)

  // Returns x if there is no function.
  Output operator()(const Output& x) const { return function_ ? function_(x) : x; }
  explicit operator bool() const { return function_ != nullptr; }

 private:
  std::function<Output(const Output&)> function_;
};

// The height and width of a window or a stride: 2, or {2, 3}.
struct Extent {
  Extent(int64_t both) : height(both), width(both) {}  // NOLINT(google-explicit-constructor)
  Extent(int64_t height, int64_t width) : height(height), width(width) {}

  int64_t height;
  int64_t width;
};

// Whether a layer trains: true, false, or a pred scalar such as a placeholder.
class Training {
 public:
  Training(bool now) : now_(now) {}  // NOLINT(google-explicit-constructor)
  // Errors: INVALID_ARGUMENT for an invalid Output.
  Training(Output decided);  // NOLINT(google-explicit-constructor)

  // Returns when_true() if training, otherwise when_false(). A tensor makes them the branches of a
  // cond. Errors: INVALID_ARGUMENT for a tensor that is not a pred scalar.
  std::vector<Output> choose(const std::function<std::vector<Output>()>& when_true,
                             const std::function<std::vector<Output>()>& when_false) const;
  // False if the layer certainly does not train.
  bool possible() const { return now_ || decided_.valid(); }

 private:
  bool now_ = false;
  Output decided_;
};

struct DenseOptions {
  int64_t units = 0;  // required
  Activation activation = nullptr;
  bool use_bias = true;
  Initializer kernel_initializer = nullptr;  // the scope's, else glorot_uniform
  Initializer bias_initializer = zeros_initializer();
  Regularizer kernel_regularizer = nullptr;
  Regularizer bias_regularizer = nullptr;
  bool trainable = true;
  std::string name = {};
  Reuse reuse = Reuse::inherit;
};
// inputs: [.., depth] of a floating dtype; kernel: [depth, units]; result: [.., units].
// activation(inputs * kernel + bias). (tf.layers.dense)
Output dense(const Input& inputs, const DenseOptions& options);
// dense(h, 10), dense(h, 64, st::relu), dense(h, 64, {.activation = st::relu}); `units` counts, not
// options.units.
inline Output dense(const Input& inputs, int64_t units, DenseOptions options) {
  options.units = units;
  return dense(inputs, options);
}
inline Output dense(const Input& inputs, int64_t units, Activation activation = nullptr) {
  return dense(inputs, DenseOptions{.units = units, .activation = std::move(activation)});
}
// TensorFlow's fourth argument is use_bias.
template <std::same_as<char> Char>
Output dense(const Input&, int64_t, const Activation&, const Char*) {
  static_assert(!std::same_as<Char, char>,
                "a name is an option: write dense(x, units, {.activation = relu, .name = \"n\"})");
  return {};
}

struct Conv2DOptions {
  int64_t filters = 0;     // required
  Extent kernel_size = 0;  // required
  Extent strides = 1;
  Padding padding = Padding::valid;
  std::string data_format = "channels_last";  // or "channels_first"
  Extent dilation_rate = 1;
  Activation activation = nullptr;
  bool use_bias = true;
  Initializer kernel_initializer = nullptr;
  Initializer bias_initializer = zeros_initializer();
  Regularizer kernel_regularizer = nullptr;
  Regularizer bias_regularizer = nullptr;
  bool trainable = true;
  std::string name = {};
  Reuse reuse = Reuse::inherit;
};
// inputs: [batch, height, width, in] (channels_last); kernel: [height, width, in, filters].
// (tf.layers.conv2d)
Output conv2d(const Input& inputs, const Conv2DOptions& options);
// conv2d(x, 32, 5, {.padding = "same", .activation = st::relu}); `filters` and `kernel_size` count,
// not those of options.
inline Output conv2d(const Input& inputs, int64_t filters, Extent kernel_size,
                     Conv2DOptions options = {}) {
  options.filters = filters;
  options.kernel_size = kernel_size;
  return conv2d(inputs, options);
}

// conv2d(x, 32, 3, 2, "same")
inline Output conv2d(const Input& inputs, int64_t filters, Extent kernel_size, Extent strides,
                     Padding padding = Padding::valid) {
  return conv2d(
      inputs,
      Conv2DOptions{
          .filters = filters, .kernel_size = kernel_size, .strides = strides, .padding = padding});
}

struct Conv1DOptions {
  int64_t filters = 0;      // required
  int64_t kernel_size = 0;  // required
  int64_t strides = 1;
  Padding padding = Padding::valid;
  std::string data_format = "channels_last";  // or "channels_first"
  int64_t dilation_rate = 1;
  Activation activation = nullptr;
  bool use_bias = true;
  Initializer kernel_initializer = nullptr;
  Initializer bias_initializer = zeros_initializer();
  Regularizer kernel_regularizer = nullptr;
  Regularizer bias_regularizer = nullptr;
  bool trainable = true;
  std::string name = {};
  Reuse reuse = Reuse::inherit;
};
// inputs: [batch, steps, in] (channels_last); kernel: [kernel_size, in, filters].
// (tf.layers.conv1d)
Output conv1d(const Input& inputs, const Conv1DOptions& options);

struct Conv2DTransposeOptions {
  int64_t filters = 0;     // required
  Extent kernel_size = 0;  // required
  Extent strides = 1;
  Padding padding = Padding::valid;
  std::string data_format = "channels_last";
  Activation activation = nullptr;
  bool use_bias = true;
  Initializer kernel_initializer = nullptr;
  Initializer bias_initializer = zeros_initializer();
  Regularizer kernel_regularizer = nullptr;
  Regularizer bias_regularizer = nullptr;
  bool trainable = true;
  std::string name = {};
  Reuse reuse = Reuse::inherit;
};
// Transposed convolution. Enlarges size s to s * stride ("same"), or to
// s * stride + max(kernel_size - stride, 0) ("valid"). kernel: [height, width, filters, in].
// (tf.layers.conv2d_transpose)
Output conv2d_transpose(const Input& inputs, const Conv2DTransposeOptions& options);

struct SeparableConv2DOptions {
  int64_t filters = 0;     // required
  Extent kernel_size = 0;  // required
  Extent strides = 1;
  Padding padding = Padding::valid;
  std::string data_format = "channels_last";
  Extent dilation_rate = 1;
  int64_t depth_multiplier = 1;
  Activation activation = nullptr;
  bool use_bias = true;
  Initializer depthwise_initializer = nullptr;
  Initializer pointwise_initializer = nullptr;
  Initializer bias_initializer = zeros_initializer();
  Regularizer depthwise_regularizer = nullptr;
  Regularizer pointwise_regularizer = nullptr;
  Regularizer bias_regularizer = nullptr;
  bool trainable = true;
  std::string name = {};
  Reuse reuse = Reuse::inherit;
};
// A convolution of each channel ("depthwise_kernel": [height, width, in, multiplier]), then one of
// size 1 over all channels ("pointwise_kernel": [1, 1, in * multiplier, filters]).
// (tf.layers.separable_conv2d)
Output separable_conv2d(const Input& inputs, const SeparableConv2DOptions& options);

struct Pooling2DOptions {
  Extent pool_size = 0;  // required
  Extent strides = 0;    // required
  Padding padding = Padding::valid;
  std::string data_format = "channels_last";
  std::string name = {};
};
// (tf.layers.max_pooling2d, tf.layers.average_pooling2d)
Output max_pooling2d(const Input& inputs, const Pooling2DOptions& options);
Output average_pooling2d(const Input& inputs, const Pooling2DOptions& options);
// max_pooling2d(x, 2, 2)
inline Output max_pooling2d(const Input& inputs, Extent pool_size, Extent strides,
                            Padding padding = Padding::valid) {
  return max_pooling2d(
      inputs, Pooling2DOptions{.pool_size = pool_size, .strides = strides, .padding = padding});
}
inline Output average_pooling2d(const Input& inputs, Extent pool_size, Extent strides,
                                Padding padding = Padding::valid) {
  return average_pooling2d(
      inputs, Pooling2DOptions{.pool_size = pool_size, .strides = strides, .padding = padding});
}
// max_pooling2d(x, 2, 2, {.padding = "same"}); `pool_size` and `strides` count, not those of
// options.
inline Output max_pooling2d(const Input& inputs, Extent pool_size, Extent strides,
                            Pooling2DOptions options) {
  options.pool_size = pool_size;
  options.strides = strides;
  return max_pooling2d(inputs, options);
}
inline Output average_pooling2d(const Input& inputs, Extent pool_size, Extent strides,
                                Pooling2DOptions options) {
  options.pool_size = pool_size;
  options.strides = strides;
  return average_pooling2d(inputs, options);
}

struct Pooling1DOptions {
  int64_t pool_size = 0;  // required
  int64_t strides = 0;    // required
  Padding padding = Padding::valid;
  std::string data_format = "channels_last";
  std::string name = {};
};
// Pools [batch, steps, channels]. (tf.layers.max_pooling1d, tf.layers.average_pooling1d)
Output max_pooling1d(const Input& inputs, const Pooling1DOptions& options);
Output average_pooling1d(const Input& inputs, const Pooling1DOptions& options);

struct BatchNormalizationOptions {
  int64_t axis = -1;       // the channels
  double momentum = 0.99;  // of the moving averages, in [0, 1]
  double epsilon = 0.001;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = zeros_initializer();
  Initializer gamma_initializer = ones_initializer();
  Initializer moving_mean_initializer = zeros_initializer();
  Initializer moving_variance_initializer = ones_initializer();
  Regularizer beta_regularizer = nullptr;
  Regularizer gamma_regularizer = nullptr;
  Training training = false;
  bool trainable = true;
  // Statistics over the batches of all replicas; false: over each replica's batch, as TensorFlow.
  bool cross_replica = false;
  std::string name = {};
  Reuse reuse = Reuse::inherit;
};
// (x - mean) / sqrt(variance + epsilon) * gamma + beta over all axes but `axis`. Mean and variance
// are those of the batch when training, otherwise the moving averages.
// (tf.layers.batch_normalization)
//
// The updates of the moving averages are in the collection update_ops, as in TensorFlow. Unlike
// there, Optimizer::minimize and the Estimator run those that belong to the loss. With several
// replicas the averages follow the mean of the replicas' statistics; TensorFlow saves replica 0's.
// Source: Ioffe and Szegedy, arXiv 1502.03167.
Output batch_normalization(const Input& inputs, const BatchNormalizationOptions& options = {});

struct LayerNormOptions {
  bool center = true;
  bool scale = true;
  Activation activation_fn = nullptr;
  bool trainable = true;
  int64_t begin_norm_axis = 1;     // normalises over this axis and all after it
  int64_t begin_params_axis = -1;  // gamma and beta have the sizes of this axis and all after it
  std::string scope = {};          // of the variables; "LayerNorm"
  Reuse reuse = Reuse::inherit;
};
// Layer normalization: activation((x - mean) / sqrt(variance + epsilon) * gamma + beta), where mean
// and variance are taken over each example by itself. Epsilon is 1e-12, for f16 1e-3.
// (tf.contrib.layers.layer_norm)
// Source: Ba, Kiros and Hinton, arXiv 1607.06450.
Output layer_norm(const Input& inputs, const LayerNormOptions& options = {});

struct DropoutOptions {
  double rate = 0.5;  // the fraction to drop, in [0, 1)
  std::vector<int64_t> noise_shape = {};
  std::optional<int64_t> seed = std::nullopt;
  Training training = false;  // false: returns the inputs
  std::string name = {};
};
// (tf.layers.dropout)
Output dropout(const Input& inputs, const DropoutOptions& options = {});
// dropout(x, 0.4, {.training = is_training})
inline Output dropout(const Input& inputs, double rate, DropoutOptions options = {}) {
  options.rate = rate;
  return dropout(inputs, options);
}

struct FakeQuantOptions {
  double momentum = 0.99;  // of the moving range
  // The moving range before the first step.
  double min = -6;
  double max = 6;
  int64_t num_bits = 8;
  Training training = false;
  std::string name = {};
  Reuse reuse = Reuse::inherit;
};
// Rounds activations as integers of so many bits would, for quantization-aware training: within
// the range of the batch when training, otherwise within the moving range, the variables
// "fake_quant/min" and "fake_quant/max". The range includes 0. Gradients pass straight through.
// The updates of the range are in the collection update_ops, as batch_normalization's.
// (tf.contrib.quantize)
Output fake_quant(const Input& inputs, const FakeQuantOptions& options = {});
// Rounds weights to 2^num_bits - 1 values, symmetric around 0, of the greatest magnitude of each
// index of the last dimension.
Output fake_quant_weights(const Input& weights, int64_t num_bits = 8);

struct FlattenOptions {
  std::string name = {};
};
// [batch, ...] -> [batch, product of the rest]. (tf.layers.flatten)
Output flatten(const Input& inputs, const FlattenOptions& options = {});

using systole::embedding_lookup;

}  // namespace systole::layers
