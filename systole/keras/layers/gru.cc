#include <utility>

#include "systole/keras/layers/gru_cell.h"

namespace systole::keras::layers {
namespace {

using GruLayer = CellLoop<GruCell, GRUOptions>;

}  // namespace

LayerClass gru_class() { return recurrent_class<GruLayer, GRUOptions>(); }

GRU::GRU(int64_t units, GRUOptions options, Where where)
    : Layer(make_with_units<GruLayer>(units, std::move(options), where)) {}

}  // namespace systole::keras::layers
