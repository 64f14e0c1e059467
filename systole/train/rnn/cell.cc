#include "systole/train/rnn/cell.h"

#include <atomic>

#include "systole/graph/api/array_ops.h"
#include "systole/train/layers/layer_scope.h"

namespace systole::nn::rnn_cell {

AffineGates::AffineGates(std::string scope, int64_t units, Initializer kernel_initializer,
                         Initializer bias_initializer)
    : scope_(std::move(scope)),
      units_(units),
      kernel_initializer_(std::move(kernel_initializer)),
      bias_initializer_(std::move(bias_initializer)) {}

Output AffineGates::operator()(const Output& inputs, const Output& state) const {
  const Output all = concat({inputs, state}, 1);
  const int64_t depth = layers::known_size("RNNCell", all, 1);
  const std::string prefix = scope_.empty() ? "" : scope_ + "/";
  const Variable kernel =
      get_variable(prefix + "kernel", {depth, units_},
                   {.dtype = inputs.dtype(), .initializer = kernel_initializer_});
  const Variable bias = get_variable(prefix + "bias", {units_},
                                     {.dtype = inputs.dtype(), .initializer = bias_initializer_});
  return bias_add(matmul(all, kernel), bias);
}

CellScope::CellScope(std::string name, std::string_view default_name)
    : name_(std::move(name)), default_name_(default_name) {
  static std::atomic<int64_t> cells = 0;
  key_ = fmt::format("rnn_cell/{}", cells++);
}

int64_t& CellScope::name_in_graph() const { return Graph::current().root().counter(key_); }

void check_units(std::string_view cell, int64_t units) {
  layers::check_positive(cell, "num_units", units);
}

const Output& single_state(std::string_view cell, const State& state) {
  if (state.is_leaf()) return state.leaf();
  throw at_line(
      invalid_argument("{}: state, got a tuple of {}, expected one tensor", cell, state.size()),
      {});
}

State RNNCell::zero_state(const Input& batch_size, DType dtype) const {
  const WhereScope where(batch_size.where());
  const Output batch = to_int32(batch_size);
  return state_size().map([&](int64_t units) {
    return zeros(stack({batch, static_cast<int>(units)}), dtype, "zero_state");
  });
}

CellResult RNNCell::operator()(const Input& inputs, const State& state) const {
  const WhereScope where(inputs.where());
  return definition_->call(layers::resolve_inputs("RNNCell", inputs, 2), state);
}

}  // namespace systole::nn::rnn_cell
