#include "systole/graph/api/array_ops.h"
#include "systole/train/rnn/cell.h"

namespace systole::nn::rnn_cell {
namespace {

class GRU : public CellDefinition {
 public:
  GRU(int64_t units, const GRUCellOptions& options)
      : units_(units),
        activation_(tanh_when_absent(options.activation)),
        scope_(options.name, "gru_cell"),
        gates_("gates", 2 * units, options.kernel_initializer,
               options.bias_initializer ? options.bias_initializer : ones_initializer()),
        candidate_("candidate", units, options.kernel_initializer,
                   options.bias_initializer ? options.bias_initializer : zeros_initializer()) {
    check_units("GRUCell", units);
  }
  int64_t output_size() const override { return units_; }
  Nest<int64_t> state_size() const override { return units_; }
  CellResult call(const Output& inputs, const State& state) override {
    const Output h = single_state("GRUCell", state);
    const Output output = scope_.run([&] { return step(inputs, h); });
    return {output, output};
  }

 private:
  Output step(const Output& inputs, const Output& h) {
    const std::vector<Output> gates = split(sigmoid(gates_(inputs, h)), 2, {.axis = 1});
    const Output& reset = gates[0];
    const Output& update = gates[1];
    const Output candidate = activation_(candidate_(inputs, reset * h));
    return update * h + (1 - update) * candidate;
  }

  int64_t units_;
  layers::Activation activation_;
  CellScope scope_;
  AffineGates gates_;
  AffineGates candidate_;
};

}  // namespace

GRUCell::GRUCell(int64_t num_units, const GRUCellOptions& options)
    : RNNCell(std::make_shared<GRU>(num_units, options)) {}

}  // namespace systole::nn::rnn_cell
