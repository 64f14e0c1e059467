// Layers that normalise activations. (tf.keras.layers)
#pragma once

#include "systole/keras/layers/axis_list.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {

struct BatchNormalizationOptions {
  AxisList axis = -1;  // of the features: 1 for channels_first
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true;  // whether there is a beta
  bool scale = true;   // whether there is a gamma
  InitializerSpec beta_initializer = "zeros";
  InitializerSpec gamma_initializer = "ones";
  InitializerSpec moving_mean_initializer = "zeros";
  InitializerSpec moving_variance_initializer = "ones";
  RegularizerSpec beta_regularizer = nullptr;
  RegularizerSpec gamma_regularizer = nullptr;
  ConstraintSpec beta_constraint = nullptr;
  ConstraintSpec gamma_constraint = nullptr;
  // TensorFlow's kernel for images: the moving variance averages the sample variance, and epsilon
  // is at least 1.001e-5. By default where the input has rank 4 and the axis is 1 or 3.
  std::optional<bool> fused = std::nullopt;
  // Whether a frozen layer (trainable false) normalises with the batch's statistics in training, as
  // TensorFlow 1.12 does; otherwise with the moving averages. Moving averages of a frozen layer
  // never change.
  bool batch_statistics_when_frozen = false;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::vector<Tensor> weights = {};  // the first ones, in the order of the layer
  std::string name = {};
  bool trainable = true;
};
// gamma (x - mean) / sqrt(variance + epsilon) + beta, for each index along `axis`. In training with
// mean and population variance of the batch: over the examples of all replicas, without those that
// pad a short batch. Otherwise with their moving averages: m -= (m - batch's) (1 - momentum).
// Several axes: one weight for each combination of indices. Weights: gamma, beta, moving_mean,
// moving_variance; not gamma without `scale`, nor beta without `center`.
// Source: Ioffe and Szegedy, arXiv 1502.03167.
class BatchNormalization : public Layer {
 public:
  explicit BatchNormalization(BatchNormalizationOptions options = {},
                              Where where = Where::current());
};

struct LayerNormalizationOptions {
  AxisList axis = -1;  // over which each example is normalised
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  InitializerSpec beta_initializer = "zeros";
  InitializerSpec gamma_initializer = "ones";
  RegularizerSpec beta_regularizer = nullptr;
  RegularizerSpec gamma_regularizer = nullptr;
  ConstraintSpec beta_constraint = nullptr;
  ConstraintSpec gamma_constraint = nullptr;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::vector<Tensor> weights = {};  // the first ones, in the order of the layer
  std::string name = {};
  bool trainable = true;
};
// gamma (x - mean) / sqrt(variance + epsilon) + beta, mean and population variance over `axis`.
// Weights: gamma, beta, of the sizes of these axes. (tf.keras of TensorFlow 1.14)
// Source: Ba et al., arXiv 1607.06450.
class LayerNormalization : public Layer {
 public:
  explicit LayerNormalization(LayerNormalizationOptions options = {},
                              Where where = Where::current());
};

}  // namespace systole::keras::layers
