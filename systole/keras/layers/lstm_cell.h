// The cell of LSTM, for layers with other weights.
#pragma once

#include <string_view>
#include <vector>

#include "systole/keras/layers/gate_cell.h"
#include "systole/keras/layers/recurrent.h"
#include "systole/keras/layers/recurrent_fields.h"

namespace systole::keras::layers {

class LstmCell : public LayerOf<LstmCell, LSTMOptions, GateCell> {
 public:
  static constexpr std::string_view kClassName = "LSTMCell";
  static constexpr std::string_view kLayerName = "LSTM";
  static std::vector<Field<LSTMOptions>> fields() { return cell_fields<LSTMOptions>(); }
  explicit LstmCell(const LSTMOptions& options);

  std::vector<int64_t> state_sizes() const override { return {units(), units()}; }
  Step step(CallContext& context, const std::vector<Output>& inputs,
            const std::vector<Output>& states) override;

 protected:
  Initializer bias_initializer() const override;
};

// `others` for `length` elements, with ones in [begin, begin + units).
Initializer with_ones(const Initializer& others, int64_t length, int64_t begin, int64_t units);

}  // namespace systole::keras::layers
