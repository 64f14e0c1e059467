#include "systole/train/rnn/cell.h"

namespace systole::nn::rnn_cell {
namespace {

class BasicRNN : public CellDefinition {
 public:
  BasicRNN(int64_t units, const BasicRNNCellOptions& options)
      : units_(units),
        activation_(tanh_when_absent(options.activation)),
        scope_(options.name, "basic_rnn_cell"),
        gates_("", units, nullptr, zeros_initializer()) {
    check_units("BasicRNNCell", units);
  }
  int64_t output_size() const override { return units_; }
  Nest<int64_t> state_size() const override { return units_; }
  CellResult call(const Output& inputs, const State& state) override {
    const Output output = scope_.run(
        [&] { return activation_(gates_(inputs, single_state("BasicRNNCell", state))); });
    return {output, output};
  }

 private:
  int64_t units_;
  layers::Activation activation_;
  CellScope scope_;
  AffineGates gates_;
};

}  // namespace

BasicRNNCell::BasicRNNCell(int64_t num_units, const BasicRNNCellOptions& options)
    : RNNCell(std::make_shared<BasicRNN>(num_units, options)) {}

}  // namespace systole::nn::rnn_cell
