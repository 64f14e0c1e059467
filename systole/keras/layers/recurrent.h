// Recurrent layers and their cells. (tf.keras.layers)
//
//   auto [y, h, c] = ...LSTM(8, {.return_state = true})(x)
//   LSTM(8)(x, {.initial_state = {h, c}})          the same as LSTM(8)({x, h, c})
//
// Layers: [batch, time, depth] -> [batch, units], or [batch, time, units] with return_sequences;
// after it the last states [batch, units] with return_state. Weights: kernel [depth, gates *
// units], recurrent_kernel [units, gates * units], bias.
//
// A stateful layer begins a batch with the states after the last one: row i of a batch continues
// row i of the batch before. Training, evaluate() and predict() all continue from these states and
// change them; fit() does not reset them; validation inside fit() begins with zeros and leaves them
// as they were. Batches of another size have states of their own. reset_states() of the layer or
// the model sets zeros.
#pragma once

#include <memory>
#include <vector>

#include "systole/keras/layers/core.h"
#include "systole/keras/layers/recurrent_cell.h"

namespace systole::keras::layers {

// The options of SimpleRNN. A SimpleRNNCell takes them, too, and uses those up to and with
// `recurrent_dropout`.
struct SimpleRNNOptions {
  int64_t units = 0;  // required
  keras::Activation activation = "tanh";
  bool use_bias = true;
  InitializerSpec kernel_initializer = "glorot_uniform";
  InitializerSpec recurrent_initializer = "orthogonal";
  InitializerSpec bias_initializer = "zeros";
  RegularizerSpec kernel_regularizer = nullptr;
  RegularizerSpec recurrent_regularizer = nullptr;
  RegularizerSpec bias_regularizer = nullptr;
  ConstraintSpec kernel_constraint = nullptr;
  ConstraintSpec recurrent_constraint = nullptr;
  ConstraintSpec bias_constraint = nullptr;
  double dropout = 0;            // of the inputs; a mask is drawn once for all steps
  double recurrent_dropout = 0;  // of the states
  RegularizerSpec activity_regularizer = nullptr;
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::vector<Tensor> weights = {};  // the first ones, in the order of the layer
  std::string name = {};
  bool trainable = true;
};
// h' = activation(x W + b + h U). Bias [units].
class SimpleRNN : public Layer {
 public:
  explicit SimpleRNN(int64_t units, SimpleRNNOptions options = {}, Where where = Where::current());
};

// The options of the layer. Its cell takes them, too, and uses those up to and with
// `implementation`.
struct GRUOptions {
  int64_t units = 0;  // required
  keras::Activation activation = "tanh";
  keras::Activation recurrent_activation = "hard_sigmoid";
  bool use_bias = true;
  InitializerSpec kernel_initializer = "glorot_uniform";
  InitializerSpec recurrent_initializer = "orthogonal";
  InitializerSpec bias_initializer = "zeros";
  RegularizerSpec kernel_regularizer = nullptr;
  RegularizerSpec recurrent_regularizer = nullptr;
  RegularizerSpec bias_regularizer = nullptr;
  ConstraintSpec kernel_constraint = nullptr;
  ConstraintSpec recurrent_constraint = nullptr;
  ConstraintSpec bias_constraint = nullptr;
  double dropout = 0;            // of the inputs; masks are drawn once for all steps
  double recurrent_dropout = 0;  // of the states
  bool reset_after = false;      // the reset gate follows the product with the recurrent kernel
  int64_t implementation = 1;    // 2: one dropout mask for all gates
  RegularizerSpec activity_regularizer = nullptr;
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::vector<Tensor> weights = {};  // the first ones, in the order of the layer
  std::string name = {};
  bool trainable = true;
};
// Gates in the order z, r, h. z = s(x Wz + h Uz + bz), r = s(x Wr + h Ur + br),
// g = activation(x Wh + (r * h) Uh + bh), h' = z * h + (1 - z) * g. Bias [3 units]. With
// reset_after g = activation(x Wh + b0h + r * (h Uh + b1h)) and bias [2, 3 units]: the rows are
// those of the inputs and of the states. Source: Cho et al., arXiv 1406.1078.
class GRU : public Layer {
 public:
  explicit GRU(int64_t units, GRUOptions options = {}, Where where = Where::current());
};

// The options of the layer. Its cell takes them, too, and uses those up to and with
// `implementation`.
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
  ConstraintSpec kernel_constraint = nullptr;
  ConstraintSpec recurrent_constraint = nullptr;
  ConstraintSpec bias_constraint = nullptr;
  double dropout = 0;            // of the inputs; masks are drawn once for all steps
  double recurrent_dropout = 0;  // of the states
  int64_t implementation = 1;    // 2: one dropout mask for all gates
  RegularizerSpec activity_regularizer = nullptr;
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::vector<Tensor> weights = {};  // the first ones, in the order of the layer
  std::string name = {};
  bool trainable = true;
};
// Gates in the order i, f, c, o; states h, c. Bias [4 units]. Source: Hochreiter and Schmidhuber,
// 1997.
class LSTM : public Layer {
 public:
  explicit LSTM(int64_t units, LSTMOptions options = {}, Where where = Where::current());
};

// The cells, for RNN: (x [batch, depth], states...) -> (y, states...).
class SimpleRNNCell : public Layer {
 public:
  explicit SimpleRNNCell(int64_t units, SimpleRNNOptions options = {},
                         Where where = Where::current());
};
class GRUCell : public Layer {
 public:
  explicit GRUCell(int64_t units, GRUOptions options = {}, Where where = Where::current());
};
class LSTMCell : public Layer {
 public:
  explicit LSTMCell(int64_t units, LSTMOptions options = {}, Where where = Where::current());
};

struct StackedRNNCellsOptions {
  std::vector<Layer> cells = {};  // required
  std::string name = {};
  bool trainable = true;
};
// Several cells as one: each takes the output of the one before. States and weights are in the
// order of the cells.
class StackedRNNCells : public Layer {
 public:
  explicit StackedRNNCells(std::vector<Layer> cells, StackedRNNCellsOptions options = {},
                           Where where = Where::current());
};

struct RNNOptions {
  std::optional<Layer> cell = std::nullopt;  // required
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// Applies a cell to each step of [batch, time, depth]; the result is the cell's last output [batch,
// units], or all of them [batch, time, units] with return_sequences. A list of cells is stacked:
// each takes the output of the one before. A program's own cell derives from RecurrentCell.
class RNN : public Layer {
 public:
  explicit RNN(const Layer& cell, RNNOptions options = {}, Where where = Where::current());
  explicit RNN(std::vector<Layer> cells, RNNOptions options = {}, Where where = Where::current());
  explicit RNN(const std::shared_ptr<RecurrentCell>& cell, RNNOptions options = {},
               Where where = Where::current());
};

struct CuDNNLSTMOptions {
  int64_t units = 0;  // required
  InitializerSpec kernel_initializer = "glorot_uniform";
  InitializerSpec recurrent_initializer = "orthogonal";
  InitializerSpec bias_initializer = "zeros";
  bool unit_forget_bias = true;
  RegularizerSpec kernel_regularizer = nullptr;
  RegularizerSpec recurrent_regularizer = nullptr;
  RegularizerSpec bias_regularizer = nullptr;
  ConstraintSpec kernel_constraint = nullptr;
  ConstraintSpec recurrent_constraint = nullptr;
  ConstraintSpec bias_constraint = nullptr;
  RegularizerSpec activity_regularizer = nullptr;
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::vector<Tensor> weights = {};  // the first ones, in the order of the layer
  std::string name = {};
  bool trainable = true;
};
// LSTM with recurrent_activation sigmoid and the weights as cuDNN has them: each gate's block of
// the kernels is transposed in memory (Keras's layout), and the bias [8 units] has one half for the
// inputs and one for the states. Runs anywhere.
class CuDNNLSTM : public Layer {
 public:
  explicit CuDNNLSTM(int64_t units, CuDNNLSTMOptions options = {}, Where where = Where::current());
};

struct CuDNNGRUOptions {
  int64_t units = 0;  // required
  InitializerSpec kernel_initializer = "glorot_uniform";
  InitializerSpec recurrent_initializer = "orthogonal";
  InitializerSpec bias_initializer = "zeros";
  RegularizerSpec kernel_regularizer = nullptr;
  RegularizerSpec recurrent_regularizer = nullptr;
  RegularizerSpec bias_regularizer = nullptr;
  ConstraintSpec kernel_constraint = nullptr;
  ConstraintSpec recurrent_constraint = nullptr;
  ConstraintSpec bias_constraint = nullptr;
  RegularizerSpec activity_regularizer = nullptr;
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::vector<Tensor> weights = {};  // the first ones, in the order of the layer
  std::string name = {};
  bool trainable = true;
};
// GRU with reset_after and recurrent_activation sigmoid, and cuDNN's weights as of CuDNNLSTM: bias
// [6 units].
class CuDNNGRU : public Layer {
 public:
  explicit CuDNNGRU(int64_t units, CuDNNGRUOptions options = {}, Where where = Where::current());
};

}  // namespace systole::keras::layers
