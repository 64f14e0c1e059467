#include "systole/keras/layers/simple_rnn_cell.h"

#include "systole/graph/api/math_ops.h"

namespace systole::keras::layers {

RecurrentCell::Step SimpleCell::step(CallContext&, const std::vector<Output>& inputs,
                                     const std::vector<Output>& states) {
  const Output h = options_.activation(inputs.at(0) + recurrent_product_of(states.at(0)));
  return {h, {h}};
}

LayerClass simple_rnn_cell_class() { return recurrent_class<SimpleCell, SimpleRNNOptions>(); }

SimpleRNNCell::SimpleRNNCell(int64_t units, SimpleRNNOptions options, Where where)
    : Layer(make_with_units<SimpleCell>(units, std::move(options), where)) {}

}  // namespace systole::keras::layers
