#include <utility>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/layers/cudnn_weights.h"
#include "systole/keras/layers/lstm_cell.h"

namespace systole::keras::layers {
namespace {

LSTMOptions lstm_of(const CuDNNLSTMOptions& o) {
  return {.units = o.units,
          .recurrent_activation = "sigmoid",
          .kernel_initializer = o.kernel_initializer,
          .recurrent_initializer = o.recurrent_initializer,
          .bias_initializer = o.bias_initializer,
          .unit_forget_bias = o.unit_forget_bias,
          .kernel_regularizer = o.kernel_regularizer,
          .recurrent_regularizer = o.recurrent_regularizer,
          .bias_regularizer = o.bias_regularizer,
          .kernel_constraint = o.kernel_constraint,
          .recurrent_constraint = o.recurrent_constraint,
          .bias_constraint = o.bias_constraint};
}

class CudnnLstmCell : public LstmCell {
 public:
  static constexpr std::string_view kLayerName = "CuDNNLSTM";
  explicit CudnnLstmCell(const CuDNNLSTMOptions& options) : LstmCell(lstm_of(options)) {}

 protected:
  Shape bias_shape() const override { return {8 * units()}; }
  // The forget gate's ones are in the half of the states.
  Initializer bias_initializer() const override {
    const Initializer others =
        GateCell::bias_initializer();  // NOLINT(bugprone-parent-virtual-call)
    return options_.unit_forget_bias ? with_ones(others, 8 * units(), 5 * units(), units())
                                     : others;
  }
  Output kernel(CallContext& context) const override {
    return from_cudnn_kernel(GateCell::kernel(context), gates());
  }
  Output recurrent_kernel(CallContext& context) const override {
    return from_cudnn_kernel(GateCell::recurrent_kernel(context), gates());
  }
  Output input_bias(CallContext& context) const override {
    return reduce_sum(reshape(context.value(bias()), {2, 4 * units()}), {.axis = 0});
  }
};

using CudnnLstmLayer = CellLoop<CudnnLstmCell, CuDNNLSTMOptions>;

}  // namespace

LayerClass cu_dnnlstm_class() { return recurrent_class<CudnnLstmLayer, CuDNNLSTMOptions>(); }

CuDNNLSTM::CuDNNLSTM(int64_t units, CuDNNLSTMOptions options, Where where)
    : Layer(make_with_units<CudnnLstmLayer>(units, std::move(options), where)) {}

}  // namespace systole::keras::layers
