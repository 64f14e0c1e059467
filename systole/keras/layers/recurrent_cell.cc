#include "systole/keras/layers/recurrent_cell.h"

#include <utility>

#include "systole/base/error.h"
#include "systole/graph/api/array_functions.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/functional_ops.h"
#include "systole/graph/api/math_ops.h"

namespace systole::keras::layers {
namespace {

struct Sequence {
  std::vector<Output> outputs;  // of each step [time, batch, units] as one tensor, or empty
  Output last;
  std::vector<Output> states;
};

// The step's results where the mask is true, else what was before.
std::vector<Output> where_unmasked(const Output& mask, const std::vector<Output>& now,
                                   const std::vector<Output>& before) {
  std::vector<Output> chosen;
  for (size_t i = 0; i < now.size(); ++i) {
    chosen.push_back(where_v2(expand_dims(mask, 1), now[i], before[i]));
  }
  return chosen;
}

// Carried values are (output, states...); elements are the projections and, if there is one, the
// mask.
std::vector<Output> run_step(CallContext& context, RecurrentCell& cell,
                             const std::vector<Output>& before, const std::vector<Output>& elements,
                             bool masked) {
  const std::vector<Output> states(before.begin() + 1, before.end());
  const std::vector<Output> inputs(elements.begin(), elements.end() - (masked ? 1 : 0));
  RecurrentCell::Step step = cell.step(context, inputs, states);
  std::vector<Output> now = std::move(step.states);
  now.insert(now.begin(), step.output);
  return masked ? where_unmasked(elements.back(), now, before) : now;
}

}  // namespace

std::vector<Output> RecurrentCell::call(CallContext& context, const std::vector<Output>& inputs) {
  std::vector<Output> projected = project(context, expand_dims(inputs.at(0), 0));
  for (Output& value : projected) value = squeeze(value, {.axis = {0}});
  Step now = step(context, projected, std::vector<Output>(inputs.begin() + 1, inputs.end()));
  now.states.insert(now.states.begin(), now.output);
  return now.states;
}

RecurrentLayer::RecurrentLayer(std::shared_ptr<RecurrentCell> cell, RecurrenceOptions recurrence)
    : cell_(std::move(cell)), recurrence_(recurrence) {
  input_specs_ = {{.ndim = 3}};
}

void RecurrentLayer::build(const std::vector<Shape>& input_shapes) {
  const Shape& shape = input_shapes.at(0);
  if (shape[2] < 0) {
    throw invalid_argument("{}: the last dimension of the inputs should be defined. Found `None`.",
                           name());
  }
  cell_->ensure_built({Shape{shape[0], shape[2]}});
  input_specs_ = {{.ndim = 3, .axes = {{-1, shape[2]}}}};
  if (recurrence_.unroll && shape[1] < 2) {
    throw invalid_argument(
        "Cannot unroll a RNN if the time dimension is undefined or equal to 1. Specify the time "
        "dimension with `input_shape` or `batch_input_shape` of the first layer");
  }
  if (!recurrence_.stateful) return;
  if (shape[0] < 0) {
    throw invalid_argument(
        "If a RNN is stateful, it needs to know its batch size. Specify the batch size of your "
        "input tensors with `batch_input_shape` of the first layer, or `batch_size` of Input");
  }
  for (const int64_t size : cell_->state_sizes()) {
    states_.push_back(add_weight("state", {shape[0], size},
                                 {.initializer = zeros_initializer(), .trainable = false}));
  }
}

std::vector<Output> RecurrentLayer::initial_states(CallContext& context, const Output& x,
                                                   const std::vector<Output>& given) const {
  if (!given.empty()) return given;
  std::vector<Output> states;
  if (!states_.empty()) {
    for (const WeightPtr& state : states_) states.push_back(context.value(state));
    return states;
  }
  const Output batch = gather(shape(x), 0);
  for (const int64_t size : cell_->state_sizes()) {
    states.push_back(zeros(stack({batch, static_cast<int32_t>(size)}), x.dtype()));
  }
  return states;
}

std::vector<Output> RecurrentLayer::call(CallContext& context, const std::vector<Output>& inputs) {
  const Output& x = inputs.at(0);
  const Output mask = context.mask(x);
  Output steps = transpose(x, {.perm = {1, 0, 2}});
  std::vector<Output> carried =
      initial_states(context, x, std::vector<Output>(inputs.begin() + 1, inputs.end()));
  const Output batch = gather(shape(x), 0);
  carried.insert(carried.begin(),
                 zeros(stack({batch, static_cast<int32_t>(cell_->output_size())}), x.dtype()));
  std::vector<Output> elements = cell_->project(context, steps);
  if (mask.valid()) elements.push_back(transpose(mask, {.perm = {1, 0}}));
  if (recurrence_.go_backwards) {
    for (Output& element : elements) element = reverse(element, 0);
  }
  const auto step = [&](const std::vector<Output>& before, const std::vector<Output>& rows) {
    return run_step(context, *cell_, before, rows, mask.valid());
  };
  std::vector<Output> last;
  Output sequence;
  if (recurrence_.unroll) {
    std::vector<Output> outputs;
    last = carried;
    for (int64_t t = 0; t < x.shape()[1]; ++t) {
      std::vector<Output> rows;
      for (const Output& element : elements)
        rows.push_back(gather(element, static_cast<int32_t>(t)));
      last = step(last, rows);
      outputs.push_back(last[0]);
    }
    sequence = stack(outputs, {.axis = 1});
  } else {
    const Scan scanned = scan(step, elements, carried);
    last = scanned.last;
    if (recurrence_.return_sequences) sequence = transpose(scanned.stacked[0], {.perm = {1, 0, 2}});
  }
  for (size_t i = 0; i < states_.size(); ++i) context.add_update(states_[i], last[i + 1]);
  std::vector<Output> results = {recurrence_.return_sequences ? sequence : last[0]};
  if (mask.valid() && recurrence_.return_sequences) context.set_mask(results[0], mask);
  if (recurrence_.return_state) results.insert(results.end(), last.begin() + 1, last.end());
  return results;
}

void RecurrentLayer::reset_states(const std::vector<Tensor>& states) {
  if (states_.empty()) {
    throw make_error(Code::failed_precondition, "Layer {} must be stateful and built", name());
  }
  if (!states.empty() && states.size() != states_.size()) {
    throw invalid_argument("Layer {} expects {} states, but it received {} state values.", name(),
                           states_.size(), states.size());
  }
  for (size_t i = 0; i < states_.size(); ++i) {
    states_[i]->set_value(states.empty()
                              ? Tensor::zeros(states_[i]->type().dtype, states_[i]->shape())
                              : states[i].clone());
  }
}

}  // namespace systole::keras::layers
