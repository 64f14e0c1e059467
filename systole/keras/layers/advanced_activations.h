// Activations with parameters. (tf.keras.layers)
#pragma once

#include "systole/keras/layers/core.h"

namespace systole::keras::layers {

struct LeakyReLUOptions {
  double alpha = 0.3;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// x for x > 0, alpha x otherwise.
class LeakyReLU : public Layer {
 public:
  explicit LeakyReLU(double alpha = 0.3, LeakyReLUOptions options = {},
                     Where where = Where::current());
  explicit LeakyReLU(LeakyReLUOptions options, Where where = Where::current())
      : LeakyReLU(options.alpha, options, where) {}
};

struct PReLUOptions {
  InitializerSpec alpha_initializer = "zeros";
  RegularizerSpec alpha_regularizer = nullptr;
  ConstraintSpec alpha_constraint = nullptr;
  // Axes along which elements share one alpha, without the batch: {1, 2} of images.
  std::optional<std::vector<int64_t>> shared_axes = std::nullopt;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::vector<Tensor> weights = {};  // the first ones, in the order of the layer
  std::string name = {};
  bool trainable = true;
};
// x for x > 0, alpha x otherwise. Weight: alpha, of the input's shape without the batch, 1 along
// shared axes. Source: He et al., arXiv 1502.01852.
class PReLU : public Layer {
 public:
  explicit PReLU(PReLUOptions options = {}, Where where = Where::current());
};

struct ELUOptions {
  double alpha = 1;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// x for x > 0, alpha (exp(x) - 1) otherwise. Source: Clevert et al., arXiv 1511.07289.
class ELU : public Layer {
 public:
  explicit ELU(double alpha = 1, ELUOptions options = {}, Where where = Where::current());
  explicit ELU(ELUOptions options, Where where = Where::current())
      : ELU(options.alpha, options, where) {}
};

struct ThresholdedReLUOptions {
  double theta = 1;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// x for x > theta, 0 otherwise. Source: Konda et al., arXiv 1402.3337.
class ThresholdedReLU : public Layer {
 public:
  explicit ThresholdedReLU(double theta = 1, ThresholdedReLUOptions options = {},
                           Where where = Where::current());
  explicit ThresholdedReLU(ThresholdedReLUOptions options, Where where = Where::current())
      : ThresholdedReLU(options.theta, options, where) {}
};

struct SoftmaxOptions {
  int64_t axis = -1;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// exp(x) / sum(exp(x)) along `axis`.
class Softmax : public Layer {
 public:
  explicit Softmax(int64_t axis = -1, SoftmaxOptions options = {}, Where where = Where::current());
  explicit Softmax(SoftmaxOptions options, Where where = Where::current())
      : Softmax(options.axis, options, where) {}
};

struct ReLUOptions {
  std::optional<double> max_value = std::nullopt;
  double negative_slope = 0;
  double threshold = 0;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// min(x, max_value) for x > threshold, negative_slope (x - threshold) otherwise.
class ReLU : public Layer {
 public:
  explicit ReLU(ReLUOptions options = {}, Where where = Where::current());
  // ReLU(6)
  explicit ReLU(double max_value, Where where = Where::current());
};

}  // namespace systole::keras::layers
