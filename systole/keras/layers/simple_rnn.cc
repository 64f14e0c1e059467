#include <utility>

#include "systole/keras/layers/simple_rnn_cell.h"

namespace systole::keras::layers {
namespace {

using SimpleRnnLayer = CellLoop<SimpleCell, SimpleRNNOptions>;

}  // namespace

LayerClass simple_rnn_class() { return recurrent_class<SimpleRnnLayer, SimpleRNNOptions>(); }

SimpleRNN::SimpleRNN(int64_t units, SimpleRNNOptions options, Where where)
    : Layer(make_with_units<SimpleRnnLayer>(units, std::move(options), where)) {}

}  // namespace systole::keras::layers
