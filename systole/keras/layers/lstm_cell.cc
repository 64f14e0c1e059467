#include "systole/keras/layers/lstm_cell.h"

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/functions/array_functions.h"

namespace systole::keras::layers {

Initializer with_ones(const Initializer& others, int64_t length, int64_t begin, int64_t units) {
  return [=](const Shape&, DType dtype) {
    return concat(
        {others({begin}, dtype), ones({units}, dtype), others({length - begin - units}, dtype)}, 0);
  };
}

LstmCell::LstmCell(const LSTMOptions& options) : LayerOf(options, gate_arguments(options, 4)) {}

Initializer LstmCell::bias_initializer() const {
  const Initializer others = GateCell::bias_initializer();
  return options_.unit_forget_bias ? with_ones(others, 4 * units(), units(), units()) : others;
}

RecurrentCell::Step LstmCell::step(CallContext&, const std::vector<Output>& inputs,
                                   const std::vector<Output>& states) {
  const Output z = inputs.at(0) + recurrent_product_of(states.at(0));
  const std::vector<Output> gate = split(z, 4, {.axis = 1});
  const Output i = options_.recurrent_activation(gate[0]);
  const Output f = options_.recurrent_activation(gate[1]);
  const Output c = f * states.at(1) + i * options_.activation(gate[2]);
  const Output o = options_.recurrent_activation(gate[3]);
  const Output h = o * options_.activation(c);
  return {h, {h, c}};
}

LayerClass lstm_cell_class() { return recurrent_class<LstmCell, LSTMOptions>(); }

LSTMCell::LSTMCell(int64_t units, LSTMOptions options, Where where)
    : Layer(make_with_units<LstmCell>(units, std::move(options), where)) {}

}  // namespace systole::keras::layers
