// Layers of tf.keras.layers that most models are made of.
#pragma once

#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "systole/keras/base/input_shape.h"
#include "systole/keras/engine/layer.h"
#include "systole/keras/functions/activation.h"
#include "systole/keras/functions/constraint.h"
#include "systole/keras/functions/initializer.h"
#include "systole/keras/functions/regularizer.h"

namespace systole::keras::layers {

using Where = std::source_location;

struct DenseOptions {
  int64_t units = 0;  // required
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
  std::optional<int64_t> input_dim = std::nullopt;  // short for input_shape {input_dim}
  std::vector<Tensor> weights = {};                 // the first ones, in the order of the layer
  std::string name = {};
  bool trainable = true;
};
// activation(x * kernel + bias) on the last axis: [..., in] -> [..., units]. Weights: kernel [in,
// units], bias [units].
class Dense : public Layer {
 public:
  explicit Dense(int64_t units, DenseOptions options = {}, Where where = Where::current());
  explicit Dense(DenseOptions options, Where where = Where::current())
      : Dense(options.units, options, where) {}
  // Dense(10, "relu")
  Dense(int64_t units, const char* activation, Where where = Where::current());
  Dense(int64_t units, const char* activation, DenseOptions options,
        Where where = Where::current());
};

struct EmbeddingOptions {
  int64_t input_dim = 0;   // required: the number of ids
  int64_t output_dim = 0;  // required
  InitializerSpec embeddings_initializer = "uniform";
  RegularizerSpec embeddings_regularizer = nullptr;
  RegularizerSpec activity_regularizer = nullptr;
  ConstraintSpec embeddings_constraint = nullptr;
  bool mask_zero = false;  // id 0 is padding: masked in the layers after
  std::optional<int64_t> input_length = std::nullopt;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::vector<Tensor> weights = {};  // the first ones, in the order of the layer
  std::string name = {};
  bool trainable = true;
};
// Rows of a table: ids [batch, ...] -> [batch, ..., output_dim]. Weight: embeddings [input_dim,
// output_dim].
class Embedding : public Layer {
 public:
  Embedding(int64_t input_dim, int64_t output_dim, EmbeddingOptions options = {},
            Where where = Where::current());
  explicit Embedding(EmbeddingOptions options, Where where = Where::current())
      : Embedding(options.input_dim, options.output_dim, options, where) {}
};

struct ActivationOptions {
  keras::Activation activation = nullptr;  // required
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// activation(x).
class ActivationLayer : public Layer {
 public:
  explicit ActivationLayer(keras::Activation activation, ActivationOptions options = {},
                           Where where = Where::current());
};
using Activation = ActivationLayer;  // Keras's name

struct FlattenOptions {
  std::optional<std::string> data_format = std::nullopt;  // channels_first: channels are moved last
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// [batch, ...] -> [batch, product of the rest].
class Flatten : public Layer {
 public:
  explicit Flatten(FlattenOptions options = {}, Where where = Where::current());
};

struct ReshapeOptions {
  std::vector<int64_t> target_shape = {};  // required; without the batch, one size may be -1
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
class Reshape : public Layer {
 public:
  explicit Reshape(std::vector<int64_t> target_shape, ReshapeOptions options = {},
                   Where where = Where::current());
};

struct PermuteOptions {
  std::vector<int64_t> dims = {};  // required; axis numbers from 1, without the batch
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
class Permute : public Layer {
 public:
  explicit Permute(std::vector<int64_t> dims, PermuteOptions options = {},
                   Where where = Where::current());
};

struct RepeatVectorOptions {
  int64_t n = 0;  // required
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// [batch, features] -> [batch, n, features].
class RepeatVector : public Layer {
 public:
  explicit RepeatVector(int64_t n, RepeatVectorOptions options = {},
                        Where where = Where::current());
  explicit RepeatVector(RepeatVectorOptions options, Where where = Where::current())
      : RepeatVector(options.n, options, where) {}
};

struct DropoutOptions {
  double rate = 0;  // required; in [0, 1): the part that is dropped
  std::optional<std::vector<int64_t>> noise_shape = std::nullopt;
  std::optional<int64_t> seed = std::nullopt;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// In training, zeroes elements at random and divides the others by 1 - rate.
class Dropout : public Layer {
 public:
  explicit Dropout(double rate, DropoutOptions options = {}, Where where = Where::current());
  explicit Dropout(DropoutOptions options, Where where = Where::current())
      : Dropout(options.rate, options, where) {}
};

struct MaskingOptions {
  double mask_value = 0;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// Masks the steps of [batch, time, features] in which all features are mask_value, and zeroes them.
class Masking : public Layer {
 public:
  explicit Masking(double mask_value = 0, MaskingOptions options = {},
                   Where where = Where::current());
  explicit Masking(MaskingOptions options, Where where = Where::current())
      : Masking(options.mask_value, options, where) {}
};

struct ActivityRegularizationOptions {
  double l1 = 0;
  double l2 = 0;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// x; adds l1 sum|x| + l2 sum x^2 over the batch's examples to the loss.
class ActivityRegularization : public Layer {
 public:
  explicit ActivityRegularization(ActivityRegularizationOptions options = {},
                                  Where where = Where::current());
};

}  // namespace systole::keras::layers
