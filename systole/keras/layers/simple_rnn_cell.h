// The cell of SimpleRNN.
#pragma once

#include <string_view>
#include <vector>

#include "systole/keras/layers/gate_cell.h"
#include "systole/keras/layers/recurrent.h"
#include "systole/keras/layers/recurrent_fields.h"

namespace systole::keras::layers {

class SimpleCell : public LayerOf<SimpleCell, SimpleRNNOptions, GateCell> {
 public:
  static constexpr std::string_view kClassName = "SimpleRNNCell";
  static constexpr std::string_view kLayerName = "SimpleRNN";
  static std::vector<Field<SimpleRNNOptions>> fields() { return cell_fields<SimpleRNNOptions>(); }
  explicit SimpleCell(const SimpleRNNOptions& options)
      : LayerOf(options, gate_arguments(options, 1)) {}

  Step step(CallContext& context, const std::vector<Output>& inputs,
            const std::vector<Output>& states) override;
};

}  // namespace systole::keras::layers
