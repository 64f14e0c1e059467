#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/functions/array_functions.h"
#include "systole/graph/functions/functional_ops.h"
#include "systole/train/layers/layer_scope.h"
#include "systole/train/rnn.h"

namespace systole::nn {
namespace {

// Selects the rows of `now` where `runs` (pred [batch]), otherwise those of `before`.
Output while_running(const Output& runs, const Output& now, const Output& before) {
  return where_v2(expand_dims(runs, 1), now, before);
}

rnn_cell::State while_running(const Output& runs, const rnn_cell::State& now,
                              const rnn_cell::State& before) {
  const std::vector<Output> old = before.flatten();
  size_t i = 0;
  return now.map([&](const Output& state) { return while_running(runs, state, old.at(i++)); });
}

void check_lengths(std::string_view op, const Output& lengths, int64_t batch) {
  if (!lengths.valid()) return;
  if (is_integer(lengths.dtype()) && lengths.shape().compatible_with({batch})) return;
  throw at_line(
      invalid_argument("{}: sequence_length, got {}, expected integers of [{}]", op, lengths.type(),
                       batch == kUnknown ? "batch" : std::to_string(batch)),
      {});
}

// Checks the results of a user-defined cell against its previous ones.
void check_step(std::string_view op, const rnn_cell::CellResult& now,
                const rnn_cell::State& before) {
  const auto check = [&](bool fits, std::string_view what, const std::string& got,
                         const std::string& expected) {
    if (fits) return;
    throw at_line(
        invalid_argument("{}: {} after a step, got {}, expected {}", op, what, got, expected), {});
  };
  check(now.output.valid(), "output", "none", "a tensor");
  const auto structure = before.structure();
  check(now.state.structure() == structure, "structure of the state",
        now.state.structure().to_string(), structure.to_string());
  now.state.for_each(
      [&](const Output& state) { check(state.valid(), "state", "none", "a tensor"); });
}

// One step of `cell`. For examples that have ended, according to `lengths` if given, the output is
// 0 and the state does not change.
rnn_cell::CellResult run_step(std::string_view op, const rnn_cell::RNNCell& cell,
                              const Output& input, const rnn_cell::State& before,
                              const Output& lengths, const Input& step) {
  rnn_cell::CellResult now = cell(input, before);
  check_step(op, now, before);
  if (!lengths.valid()) return now;
  const Output runs = less(step, cast(lengths, DType::s32));
  now.output = while_running(runs, now.output, zeros_like(now.output));
  now.state = while_running(runs, now.state, before);
  return now;
}

// Returns the leaves in the structure of `like`.
rnn_cell::State with_leaves(const rnn_cell::State& like, std::vector<Output>::const_iterator leaf) {
  return like.map([&](const Output&) { return *leaf++; });
}

}  // namespace

StaticRnn static_rnn(const rnn_cell::RNNCell& cell, const std::vector<Output>& inputs,
                     const RnnOptions& options, Input::Where where) {
  const WhereScope at(where);
  if (inputs.empty()) {
    throw at_line(invalid_argument("static_rnn: inputs, got none, expected one a step"), {});
  }
  const VariableScope scope(options.scope);
  const DType dtype = options.dtype == DType::invalid ? inputs[0].dtype() : options.dtype;
  const int64_t batch = inputs[0].shape().rank() > 0 ? inputs[0].shape()[0] : kUnknown;
  check_lengths("static_rnn", options.sequence_length, batch);
  if (options.time_major) {
    throw at_line(
        invalid_argument("static_rnn: time_major, got true, expected false: its inputs are steps"),
        {});
  }
  StaticRnn result;
  result.state = options.initial_state;
  if (result.state.empty()) {
    result.state = batch == kUnknown ? cell.zero_state(gather(shape(inputs[0]), 0), dtype)
                                     : cell.zero_state(batch, dtype);
  }
  for (size_t step = 0; step < inputs.size(); ++step) {
    const rnn_cell::CellResult now = run_step("static_rnn", cell, inputs[step], result.state,
                                              options.sequence_length, static_cast<int32_t>(step));
    result.outputs.push_back(now.output);
    result.state = now.state;
  }
  return result;
}

DynamicRnn dynamic_rnn(const rnn_cell::RNNCell& cell, const Input& inputs,
                       const RnnOptions& options) {
  const WhereScope where(inputs.where());
  const VariableScope scope(options.scope);
  const Output given = layers::resolve_inputs("dynamic_rnn", inputs, 3);
  const Output x = options.time_major ? given : transpose(given, {.perm = {1, 0, 2}});
  const DType dtype = options.dtype == DType::invalid ? x.dtype() : options.dtype;
  check_lengths("dynamic_rnn", options.sequence_length, x.shape()[1]);
  const Output batch = gather(shape(x), 1);
  const rnn_cell::State initial =
      options.initial_state.empty() ? cell.zero_state(batch, dtype) : options.initial_state;
  // The loop carries the last output, unused, before the state.
  std::vector<Output> carried = initial.flatten();
  carried.insert(carried.begin(),
                 zeros(stack({batch, static_cast<int>(cell.output_size())}), dtype));
  const auto step = [&](const std::vector<Output>& before, const std::vector<Output>& elements) {
    const rnn_cell::State state = with_leaves(initial, before.begin() + 1);
    const rnn_cell::CellResult now =
        run_step("dynamic_rnn", cell, elements[0], state, options.sequence_length, elements[1]);
    std::vector<Output> after = now.state.flatten();
    after.insert(after.begin(), now.output);
    return after;
  };
  const Scan steps = scan(step, {x, range(gather(shape(x), 0))}, carried);
  const Output outputs = steps.stacked[0];
  return {options.time_major ? outputs : transpose(outputs, {.perm = {1, 0, 2}}),
          with_leaves(initial, steps.last.begin() + 1)};
}

BidirectionalRnn bidirectional_dynamic_rnn(const rnn_cell::RNNCell& cell_fw,
                                           const rnn_cell::RNNCell& cell_bw, const Input& inputs,
                                           const BidirectionalRnnOptions& options) {
  constexpr std::string_view kOp = "bidirectional_dynamic_rnn";
  const WhereScope where(inputs.where());
  const VariableScope scope(options.scope);
  const Output x = layers::resolve_inputs(kOp, inputs, 3);
  const int batch_axis = options.time_major ? 1 : 0;
  check_lengths(kOp, options.sequence_length, x.shape()[batch_axis]);
  const auto reversed = [&](const Output& steps) {
    if (!options.sequence_length.valid()) return reverse(steps, 1 - batch_axis);
    return reverse_sequence(steps, options.sequence_length,
                            {.seq_axis = 1 - batch_axis, .batch_axis = batch_axis});
  };
  const auto run = [&](const rnn_cell::RNNCell& cell, const Output& steps,
                       const rnn_cell::State& initial, const char* name) {
    return dynamic_rnn(cell, steps,
                       {.initial_state = initial,
                        .sequence_length = options.sequence_length,
                        .dtype = options.dtype,
                        .time_major = options.time_major,
                        .scope = name});
  };
  BidirectionalRnn result{run(cell_fw, x, options.initial_state_fw, "fw"),
                          run(cell_bw, reversed(x), options.initial_state_bw, "bw")};
  result.bw.outputs = reversed(result.bw.outputs);
  return result;
}

}  // namespace systole::nn
