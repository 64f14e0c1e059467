#include "systole/keras/layers/recurrent_cell.h"

#include <utility>

#include "systole/base/error.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/functions/array_functions.h"
#include "systole/keras/engine/layer_class.h"

namespace systole::keras::layers {

RecurrentCell::Step RecurrentCell::project_and_step(CallContext& context, const Output& x,
                                                    const std::vector<Output>& states) {
  std::vector<Output> projected = project(context, expand_dims(x, 0));
  for (Output& value : projected) value = squeeze(value, {.axis = {0}});
  return step(context, projected, states);
}

std::vector<Output> RecurrentCell::call(CallContext& context, const std::vector<Output>& inputs) {
  const size_t count = state_sizes().size();
  if (inputs.size() != count + 1) {
    throw invalid_argument("{}: got {} inputs, expected x and {} states", name(), inputs.size(),
                           count);
  }
  begin(context, gather(shape(inputs[0]), 0));
  Step now =
      project_and_step(context, inputs[0], std::vector<Output>(inputs.begin() + 1, inputs.end()));
  now.states.insert(now.states.begin(), now.output);
  return now.states;
}

std::shared_ptr<RecurrentCell> RecurrentCell::copy() const {
  return cell_of(layer_from_json(layer_to_json(*this)));
}

std::shared_ptr<RecurrentCell> cell_of(const Layer& layer) {
  auto cell = std::dynamic_pointer_cast<RecurrentCell>(layer.definition());
  if (!cell) {
    throw invalid_argument("RNN: cell, got layer '{}' ({}), expected a cell", layer.name(),
                           layer.class_name());
  }
  return cell;
}

}  // namespace systole::keras::layers
