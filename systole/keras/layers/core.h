// Layers of tf.keras.layers that most models are made of.
#pragma once

#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "systole/keras/functions/activation.h"
#include "systole/keras/functions/constraint.h"
#include "systole/keras/functions/initializer.h"
#include "systole/keras/functions/regularizer.h"
#include "systole/keras/layer.h"

namespace systole::keras::layers {

using Where = std::source_location;

struct DenseOptions {
  int64_t units = 0;  // required
  Activation activation = nullptr;
  bool use_bias = true;
  InitializerSpec kernel_initializer = "glorot_uniform";
  InitializerSpec bias_initializer = "zeros";
  RegularizerSpec kernel_regularizer = nullptr;
  RegularizerSpec bias_regularizer = nullptr;
  RegularizerSpec activity_regularizer = nullptr;
  ConstraintSpec kernel_constraint = nullptr;
  ConstraintSpec bias_constraint = nullptr;
  std::optional<Shape> input_shape = std::nullopt;
  std::optional<int64_t> input_dim = std::nullopt;  // short for input_shape {input_dim}
  std::string name = {};
  bool trainable = true;
};
// activation(x * kernel + bias) on the last axis: [..., in] -> [..., units]. Weights: kernel [in,
// units], bias [units].
class Dense : public Layer {
 public:
  explicit Dense(int64_t units, DenseOptions options = {}, Where where = Where::current());
  // Dense(10, "relu")
  Dense(int64_t units, const char* activation, Where where = Where::current());
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
  std::optional<Shape> input_shape = std::nullopt;
  std::optional<Shape> batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// Rows of a table: ids [batch, ...] -> [batch, ..., output_dim]. Weight: embeddings [input_dim,
// output_dim].
class Embedding : public Layer {
 public:
  Embedding(int64_t input_dim, int64_t output_dim, EmbeddingOptions options = {},
            Where where = Where::current());
};

}  // namespace systole::keras::layers
