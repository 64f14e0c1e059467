// Recurrent networks: cells, and their application to sequences. (tf.nn.rnn_cell, tf.nn.static_rnn,
// tf.nn.dynamic_rnn, tf.nn.bidirectional_dynamic_rnn)
//
//   auto cell = st::nn::rnn_cell::MultiRNNCell({st::nn::rnn_cell::BasicLSTMCell(64),
//                                               st::nn::rnn_cell::BasicLSTMCell(64)});
//   auto [outputs, state] = st::nn::dynamic_rnn(cell, x);
//
// Common to all:
//   * A cell creates its variables at its first call in a graph, with TensorFlow's names
//     ("rnn/basic_lstm_cell/kernel"). Later calls in that graph reuse them. Copies of a cell share
//     them. Not thread-safe.
//   * Errors: INVALID_ARGUMENT `<cell or function>: <what>, got <value>, expected <value>, at
//     <file>:<line>`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/base/nest.h"
#include "systole/graph/initializers/initializers.h"
#include "systole/train/layers.h"

namespace systole::nn {

namespace rnn_cell {

// One tensor [batch, units], or a tuple of such: (c, h) of an LSTM cell.
using State = Nest<Output>;

struct CellResult {
  Output output;  // [batch, output_size]
  State state;
};

// The implementation of a cell. Derive from it for a user-defined cell.
class CellDefinition {
 public:
  virtual ~CellDefinition() = default;
  virtual int64_t output_size() const = 0;
  // The number of units of each tensor of the state.
  virtual Nest<int64_t> state_size() const = 0;
  // inputs: [batch, depth], floating.
  virtual CellResult call(const Output& inputs, const State& state) = 0;
};

// A handle to a cell.
class RNNCell {
 public:
  explicit RNNCell(std::shared_ptr<CellDefinition> definition)
      : definition_(std::move(definition)) {}

  int64_t output_size() const { return definition_->output_size(); }
  Nest<int64_t> state_size() const { return definition_->state_size(); }
  // Zeros. batch_size: an integer, or a scalar such as shape(x)[0].
  State zero_state(const Input& batch_size, DType dtype = DType::f32) const;
  // One step. inputs: [batch, depth] of a floating dtype and a known depth.
  CellResult operator()(const Input& inputs, const State& state) const;

 private:
  std::shared_ptr<CellDefinition> definition_;
};

struct BasicRNNCellOptions {
  layers::Activation activation = nullptr;  // tanh when absent
  std::string name = {};
};
// output = state = activation([inputs, state] * kernel + bias). (tf.nn.rnn_cell.BasicRNNCell)
class BasicRNNCell : public RNNCell {
 public:
  explicit BasicRNNCell(int64_t num_units, const BasicRNNCellOptions& options = {});
};

struct LSTMCellOptions {
  double forget_bias = 1;                   // added to the forget gate before its sigmoid
  layers::Activation activation = nullptr;  // tanh when absent
  Initializer initializer = nullptr;        // of the kernel; the scope's when absent
  std::string name = {};
};
// Kernel [depth + units, 4 * units] with the gates i, j, f, o side by side; state (c, h).
// Source: Zaremba et al., arXiv 1409.2329. (tf.nn.rnn_cell.BasicLSTMCell; LSTMCell without
// peepholes, clipping and projection is the same under another name)
class BasicLSTMCell : public RNNCell {
 public:
  explicit BasicLSTMCell(int64_t num_units, const LSTMCellOptions& options = {});
};
class LSTMCell : public RNNCell {
 public:
  explicit LSTMCell(int64_t num_units, const LSTMCellOptions& options = {});
};

struct GRUCellOptions {
  layers::Activation activation = nullptr;   // tanh when absent
  Initializer kernel_initializer = nullptr;  // the scope's when absent
  Initializer bias_initializer = nullptr;    // 1 for the gates and 0 for the candidate
  std::string name = {};
};
// "gates/kernel" [depth + units, 2 * units], r and u side by side; "candidate/kernel".
// Source: Cho et al., arXiv 1406.1078. (tf.nn.rnn_cell.GRUCell)
class GRUCell : public RNNCell {
 public:
  explicit GRUCell(int64_t num_units, const GRUCellOptions& options = {});
};

// Stacked cells; the state is the tuple of their states. (tf.nn.rnn_cell.MultiRNNCell)
class MultiRNNCell : public RNNCell {
 public:
  explicit MultiRNNCell(std::vector<RNNCell> cells);
};

struct DropoutWrapperOptions {
  Input input_keep_prob = 1.0F;
  Input output_keep_prob = 1.0F;
  std::optional<int64_t> seed = std::nullopt;
};
// Applies dropout to the inputs and outputs of a cell, with new masks in each step. Input, output
// and every call in the graph derive different seeds from `seed`.
// (tf.nn.rnn_cell.DropoutWrapper)
class DropoutWrapper : public RNNCell {
 public:
  explicit DropoutWrapper(const RNNCell& cell, const DropoutWrapperOptions& options = {});
};

// Adds a cell's inputs to its outputs, of the same size. (tf.nn.rnn_cell.ResidualWrapper)
class ResidualWrapper : public RNNCell {
 public:
  explicit ResidualWrapper(const RNNCell& cell);
};

}  // namespace rnn_cell

struct RnnOptions {
  rnn_cell::State initial_state = {};  // zeros when absent
  // Integers [batch]: the number of steps of each example. After them its outputs are 0 and its
  // state does not change.
  Output sequence_length = {};
  DType dtype = DType::invalid;  // of the zeros; that of the inputs when absent
  bool time_major = false;  // dynamic_rnn: [time, batch, depth] instead of [batch, time, depth]
  std::string scope = "rnn";
};
struct StaticRnn {
  std::vector<Output> outputs;  // one for each step, [batch, output_size]
  rnn_cell::State state;        // after the last step
};
// Applies the cell to `inputs`, a tensor [batch, depth] for each step, unrolled: it takes longer to
// compile than dynamic_rnn's loop and runs faster. (tf.nn.static_rnn)
StaticRnn static_rnn(const rnn_cell::RNNCell& cell, const std::vector<Output>& inputs,
                     const RnnOptions& options = {}, Input::Where where = Input::Where::current());

struct DynamicRnn {
  Output outputs;  // [batch, time, output_size], or time first
  rnn_cell::State state;
};
// Applies the cell along the time axis of one tensor, in a loop. (tf.nn.dynamic_rnn)
DynamicRnn dynamic_rnn(const rnn_cell::RNNCell& cell, const Input& inputs,
                       const RnnOptions& options = {});

struct BidirectionalRnnOptions {
  rnn_cell::State initial_state_fw = {};
  rnn_cell::State initial_state_bw = {};
  Output sequence_length = {};
  DType dtype = DType::invalid;
  bool time_major = false;
  std::string scope = "bidirectional_rnn";
};
struct BidirectionalRnn {
  DynamicRnn fw;
  DynamicRnn bw;  // outputs in the order of the inputs
};
// Applies cell_fw from the first step to the last, and cell_bw from each example's last step to the
// first. (tf.nn.bidirectional_dynamic_rnn)
BidirectionalRnn bidirectional_dynamic_rnn(const rnn_cell::RNNCell& cell_fw,
                                           const rnn_cell::RNNCell& cell_bw, const Input& inputs,
                                           const BidirectionalRnnOptions& options = {});

}  // namespace systole::nn
