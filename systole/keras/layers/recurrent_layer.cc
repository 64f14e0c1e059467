#include "systole/keras/layers/recurrent_layer.h"

#include <utility>

#include "systole/base/error.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/tpu_collectives.h"
#include "systole/graph/functions/array_functions.h"
#include "systole/graph/functions/functional_ops.h"
#include "systole/train/replicas.h"

namespace systole::keras::layers {
namespace {

// The step's results where the mask is true, else what was before.
std::vector<Output> where_unmasked(const Output& mask, const std::vector<Output>& now,
                                   const std::vector<Output>& before) {
  std::vector<Output> chosen;
  for (size_t i = 0; i < now.size(); ++i) {
    chosen.push_back(where_v2(expand_dims(mask, 1), now[i], before[i]));
  }
  return chosen;
}

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

Output zero_rows(const Output& x, int64_t units) {
  return zeros(stack({gather(shape(x), 0), static_cast<int32_t>(units)}), x.dtype());
}

// A state is a weight of the whole batch, [replicas * rows, units]; a replica has its rows of it.
Output read_state(CallContext& context, const WeightPtr& state) {
  const Output all = context.value(state);
  if (context.replicas() == 1) return all;
  const int64_t rows = state->shape()[0] / context.replicas();
  return gather(reshape(all, {context.replicas(), rows, state->shape()[1]}), tpu::replica_id());
}

void write_state(CallContext& context, const WeightPtr& state, const Output& value) {
  if (context.replicas() == 1) {
    context.set_state(state, value);
    return;
  }
  const Output mine =
      reshape(one_hot(tpu::replica_id(), context.replicas()), {context.replicas(), 1, 1});
  const Output parts = where_v2(greater(mine, 0.5F), expand_dims(value, 0), 0.0F);
  context.set_state(state, replica_sum(reshape(parts, state->shape())));
}

Error no_batch_size() {
  return invalid_argument(
      "If a RNN is stateful, it needs to know its batch size. Specify the batch size of your "
      "input tensors with `batch_input_shape` of the first layer, or `batch_size` of Input");
}

}  // namespace

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
  if (recurrence_.unroll && shape[1] < 2) {
    throw invalid_argument(
        "Cannot unroll a RNN if the time dimension is undefined or equal to 1. Specify the time "
        "dimension with `input_shape` or `batch_input_shape` of the first layer");
  }
  if (recurrence_.stateful && shape[0] < 0) throw no_batch_size();
  cell_->ensure_built({Shape{shape[0], shape[2]}});
  input_specs_ = {{.ndim = 3, .axes = {{-1, shape[2]}}}};
}

const std::vector<WeightPtr>& RecurrentLayer::states_of(int64_t batch) {
  if (batch < 0) throw no_batch_size();
  std::vector<WeightPtr>& states = states_[batch];
  if (!states.empty()) return states;
  for (const int64_t size : cell_->state_sizes()) {
    states.push_back(std::make_shared<Weight>(
        "state", Shape{batch, size},
        WeightOptions{.initializer = zeros_initializer(), .trainable = false}));
    states.back()->set_value(Tensor::zeros(DType::f32, {batch, size}));
  }
  return states;
}

std::vector<WeightPtr> RecurrentLayer::states() const {
  std::vector<WeightPtr> all;
  for (const auto& [batch, states] : states_) {
    all.insert(all.end(), states.begin(), states.end());
  }
  return all;
}

void RecurrentLayer::reset_states(const std::vector<Tensor>& values) {
  if (!recurrence_.stateful) {
    throw make_error(Code::failed_precondition, "Layer must be stateful. {} is not", name());
  }
  if (values.empty()) {
    for (const WeightPtr& state : states()) {
      state->set_value(Tensor::zeros(state->type().dtype, state->shape()));
    }
    return;
  }
  const std::vector<int64_t> sizes = cell_->state_sizes();
  if (values.size() != sizes.size()) {
    throw invalid_argument("Layer {} expects {} states, but it received {} state values.", name(),
                           sizes.size(), values.size());
  }
  const int64_t batch = values[0].shape().rank() == 2 ? values[0].dim(0) : 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const TensorType expected{DType::f32, Shape{batch, sizes[i]}};
    if (values[i].type() == expected) continue;
    throw invalid_argument("State {} is incompatible with layer {}: expected {}, found {}", i,
                           name(), expected, values[i].type());
  }
  const std::vector<WeightPtr>& states = states_of(batch);
  for (size_t i = 0; i < sizes.size(); ++i) states[i]->set_value(values[i].clone());
}

void RecurrentLayer::check_states(const std::vector<Output>& given) const {
  const std::vector<int64_t> sizes = cell_->state_sizes();
  bool fits = given.size() == sizes.size();
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = given[i].shape().rank() == 2 && given[i].shape()[1] == sizes[i];
  }
  if (fits) return;
  std::string got;
  for (const Output& state : given) got += (got.empty() ? "" : ", ") + sizes_text(state.shape());
  throw invalid_argument(
      "{}: an `initial_state` was passed that is not compatible with `cell.state_size`. Received "
      "states of shape {}; however `cell.state_size` is {}",
      name(), got, sizes_text(Shape(std::span<const int64_t>(sizes))));
}

std::vector<Output> RecurrentLayer::initial_states(CallContext& context,
                                                   const std::vector<Output>& inputs) {
  if (inputs.size() > 1) {
    std::vector<Output> given(inputs.begin() + 1, inputs.end());
    check_states(given);
    return given;
  }
  const Output& x = inputs.at(0);
  std::vector<Output> states;
  if (recurrence_.stateful) {
    const int64_t rows = x.shape()[0];
    for (const WeightPtr& state : states_of(rows < 0 ? rows : rows * context.replicas())) {
      states.push_back(read_state(context, state));
    }
    return states;
  }
  for (const int64_t size : cell_->state_sizes()) states.push_back(zero_rows(x, size));
  return states;
}

Output RecurrentLayer::first_output(const Output& x, bool masked,
                                    const std::vector<Output>& states) const {
  const size_t state = cell_->output_state();
  const int64_t units = cell_->output_size();
  const bool is_state = cell_->state_sizes().at(state) == units;
  return masked && is_state && !recurrence_.unroll ? states[state] : zero_rows(x, units);
}

RecurrentLayer::Steps RecurrentLayer::run_steps(CallContext& context,
                                                const std::vector<Output>& carried,
                                                const std::vector<Output>& elements, bool masked) {
  const auto step = [&](const std::vector<Output>& before, const std::vector<Output>& rows) {
    return run_step(context, *cell_, before, rows, masked);
  };
  Steps steps;
  if (!recurrence_.unroll) {
    const Scan scanned = scan(step, elements, carried);
    steps.last = scanned.last;
    if (recurrence_.return_sequences) {
      steps.sequence = transpose(scanned.stacked[0], {.perm = {1, 0, 2}});
    }
    return steps;
  }
  steps.last = carried;
  std::vector<Output> outputs;
  for (int64_t t = 0; t < elements[0].shape()[0]; ++t) {
    std::vector<Output> rows;
    for (const Output& element : elements) rows.push_back(gather(element, static_cast<int32_t>(t)));
    steps.last = step(steps.last, rows);
    outputs.push_back(steps.last[0]);
  }
  if (recurrence_.return_sequences) steps.sequence = stack(outputs, {.axis = 1});
  return steps;
}

std::vector<Output> RecurrentLayer::call(CallContext& context, const std::vector<Output>& inputs) {
  const Output& x = inputs.at(0);
  const Output mask = context.mask(x);
  std::vector<Output> carried = initial_states(context, inputs);
  cell_->begin(context, gather(shape(x), 0));
  std::vector<Output> elements = cell_->project(context, transpose(x, {.perm = {1, 0, 2}}));
  if (mask.valid()) elements.push_back(transpose(mask, {.perm = {1, 0}}));
  if (recurrence_.go_backwards) {
    for (Output& element : elements) element = reverse(element, 0);
  }
  carried.insert(carried.begin(), first_output(x, mask.valid(), carried));
  const Steps steps = run_steps(context, carried, elements, mask.valid());
  if (recurrence_.stateful) {
    const std::vector<WeightPtr>& states = states_of(x.shape()[0] * context.replicas());
    for (size_t i = 0; i < states.size(); ++i) write_state(context, states[i], steps.last[i + 1]);
  }
  std::vector<Output> results = {recurrence_.return_sequences ? steps.sequence : steps.last[0]};
  if (mask.valid() && recurrence_.return_sequences) {
    context.set_mask(results[0], recurrence_.go_backwards ? reverse(mask, 1) : mask);
  }
  if (recurrence_.return_state) {
    results.insert(results.end(), steps.last.begin() + 1, steps.last.end());
  }
  return results;
}

}  // namespace systole::keras::layers
