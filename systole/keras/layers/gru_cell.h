// The cell of GRU, for layers with other weights.
#pragma once

#include <string_view>
#include <vector>

#include "systole/keras/layers/gate_cell.h"
#include "systole/keras/layers/recurrent.h"
#include "systole/keras/layers/recurrent_fields.h"

namespace systole::keras::layers {

class GruCell : public LayerOf<GruCell, GRUOptions, GateCell> {
 public:
  static constexpr std::string_view kClassName = "GRUCell";
  static constexpr std::string_view kLayerName = "GRU";
  static std::vector<Field<GRUOptions>> fields() { return cell_fields<GRUOptions>(); }
  explicit GruCell(const GRUOptions& options);

  void begin(CallContext& context, const Output& batch) override;
  Step step(CallContext& context, const std::vector<Output>& inputs,
            const std::vector<Output>& states) override;

 protected:
  Shape bias_shape() const override;
  Output input_bias(CallContext& context) const override;

 private:
  Output gated_candidate(const std::vector<Output>& x, const Output& r, const Output& h) const;
  Output bias_row(CallContext& context, int64_t row) const;

  // With reset_after: the bias of the states of the sequence that began last.
  Output recurrent_bias_;
  // Without: the recurrent kernels of z and r, and of the candidate.
  std::vector<Output> kernels_;
};

}  // namespace systole::keras::layers
