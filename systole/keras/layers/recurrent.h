// Recurrent layers. (tf.keras.layers)
#pragma once

#include "systole/keras/layers/core.h"
#include "systole/keras/layers/recurrent_cell.h"

namespace systole::keras::layers {

struct LSTMOptions {
  int64_t units = 0;  // required
  keras::Activation activation = "tanh";
  keras::Activation recurrent_activation = "hard_sigmoid";
  bool use_bias = true;
  InitializerSpec kernel_initializer = "glorot_uniform";
  InitializerSpec recurrent_initializer = "orthogonal";
  InitializerSpec bias_initializer = "zeros";
  bool unit_forget_bias = true;
  RegularizerSpec kernel_regularizer = nullptr;
  RegularizerSpec recurrent_regularizer = nullptr;
  RegularizerSpec bias_regularizer = nullptr;
  RegularizerSpec activity_regularizer = nullptr;
  ConstraintSpec kernel_constraint = nullptr;
  ConstraintSpec recurrent_constraint = nullptr;
  ConstraintSpec bias_constraint = nullptr;
  double dropout = 0;
  double recurrent_dropout = 0;
  int64_t implementation = 1;
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  std::optional<Shape> input_shape = std::nullopt;
  std::optional<Shape> batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// [batch, time, depth] -> [batch, units], or [batch, time, units] with return_sequences. Weights:
// kernel [depth, 4 units], recurrent_kernel [units, 4 units], bias [4 units], gates in the order i,
// f, c, o. Source: Hochreiter and Schmidhuber, 1997.
class LSTM : public Layer {
 public:
  explicit LSTM(int64_t units, LSTMOptions options = {}, Where where = Where::current());
};

}  // namespace systole::keras::layers
