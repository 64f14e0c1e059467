#include "systole/graph/api/array_ops.h"
#include "systole/train/rnn/cell.h"

namespace systole::nn::rnn_cell {
namespace {

class LSTM : public CellDefinition {
 public:
  LSTM(int64_t units, const LSTMCellOptions& options, std::string_view default_name)
      : units_(units),
        forget_bias_(options.forget_bias),
        activation_(tanh_when_absent(options.activation)),
        scope_(options.name, default_name),
        gates_("", 4 * units, options.initializer, zeros_initializer()) {
    check_units("LSTMCell", units);
  }
  int64_t output_size() const override { return units_; }
  Nest<int64_t> state_size() const override { return Nest<int64_t>::tuple({units_, units_}); }
  CellResult call(const Output& inputs, const State& state) override {
    if (!state.is_tuple() || state.size() != 2) {
      throw at_line(invalid_argument("LSTMCell: state, got {} tensors, expected the tuple (c, h)",
                                     state.num_leaves()),
                    {});
    }
    return scope_.run([&] { return step(inputs, state[0], state[1]); });
  }

 private:
  CellResult step(const Output& inputs, const Output& c, const Output& h) {
    const std::vector<Output> gates = split(gates_(inputs, h), 4, {.axis = 1});
    const Output kept = c * sigmoid(gates[2] + forget_bias_);
    const Output new_c = kept + sigmoid(gates[0]) * activation_(gates[1]);
    const Output new_h = activation_(new_c) * sigmoid(gates[3]);
    return {new_h, State::tuple({new_c, new_h})};
  }

  int64_t units_;
  double forget_bias_;
  layers::Activation activation_;
  CellScope scope_;
  AffineGates gates_;
};

}  // namespace

BasicLSTMCell::BasicLSTMCell(int64_t num_units, const LSTMCellOptions& options)
    : RNNCell(std::make_shared<LSTM>(num_units, options, "basic_lstm_cell")) {}
LSTMCell::LSTMCell(int64_t num_units, const LSTMCellOptions& options)
    : RNNCell(std::make_shared<LSTM>(num_units, options, "lstm_cell")) {}

}  // namespace systole::nn::rnn_cell
