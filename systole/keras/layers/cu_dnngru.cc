#include <utility>

#include "systole/keras/layers/cudnn_weights.h"
#include "systole/keras/layers/gru_cell.h"

namespace systole::keras::layers {
namespace {

GRUOptions gru_of(const CuDNNGRUOptions& o) {
  return {.units = o.units,
          .recurrent_activation = "sigmoid",
          .kernel_initializer = o.kernel_initializer,
          .recurrent_initializer = o.recurrent_initializer,
          .bias_initializer = o.bias_initializer,
          .kernel_regularizer = o.kernel_regularizer,
          .recurrent_regularizer = o.recurrent_regularizer,
          .bias_regularizer = o.bias_regularizer,
          .kernel_constraint = o.kernel_constraint,
          .recurrent_constraint = o.recurrent_constraint,
          .bias_constraint = o.bias_constraint,
          .reset_after = true};
}

class CudnnGruCell : public GruCell {
 public:
  static constexpr std::string_view kLayerName = "CuDNNGRU";
  explicit CudnnGruCell(const CuDNNGRUOptions& options) : GruCell(gru_of(options)) {}

 protected:
  Shape bias_shape() const override { return {6 * units()}; }
  Output kernel(CallContext& context) const override {
    return from_cudnn_kernel(GateCell::kernel(context), gates());
  }
  Output recurrent_kernel(CallContext& context) const override {
    return from_cudnn_kernel(GateCell::recurrent_kernel(context), gates());
  }
};

using CudnnGruLayer = CellLoop<CudnnGruCell, CuDNNGRUOptions>;

}  // namespace

LayerClass cu_dnngru_class() { return recurrent_class<CudnnGruLayer, CuDNNGRUOptions>(); }

CuDNNGRU::CuDNNGRU(int64_t units, CuDNNGRUOptions options, Where where)
    : Layer(make_with_units<CudnnGruLayer>(units, std::move(options), where)) {}

}  // namespace systole::keras::layers
