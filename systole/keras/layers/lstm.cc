#include <utility>

#include "systole/keras/layers/lstm_cell.h"

namespace systole::keras::layers {
namespace {

using LstmLayer = CellLoop<LstmCell, LSTMOptions>;

}  // namespace

LayerClass lstm_class() { return recurrent_class<LstmLayer, LSTMOptions>(); }

LSTM::LSTM(int64_t units, LSTMOptions options, Where where)
    : Layer(make_with_units<LstmLayer>(units, std::move(options), where)) {}

}  // namespace systole::keras::layers
