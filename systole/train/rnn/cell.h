// What cells have in common.
#pragma once

#include <string>

#include "systole/graph/math_ops.h"
#include "systole/graph/node_builder.h"
#include "systole/train/rnn.h"

namespace systole::nn::rnn_cell {

// [inputs, state] * kernel + bias, of variables made at the first call.
class AffineGates {
 public:
  // Under `scope` of the current variable scope when that is not empty.
  AffineGates(std::string scope, int64_t units, Initializer kernel_initializer,
              Initializer bias_initializer);
  // [batch, units]
  Output operator()(const Output& inputs, const Output& state);

 private:
  std::string scope_;
  int64_t units_;
  Initializer kernel_initializer_;
  Initializer bias_initializer_;
  Variable kernel_;
  Variable bias_;
};

// The variable scope that a cell makes its variables in: `name`, or the first of default_name,
// default_name_1... that is free when the cell is first called, and the same ever after.
class CellScope {
 public:
  CellScope(std::string name, std::string_view default_name)
      : name_(std::move(name)), default_name_(default_name) {}
  template <class F>
  auto run(const F& f) {
    const VariableScope scope(name_, {.default_name = default_name_});
    if (name_.empty() || !name_.ends_with('/')) name_ = scope.name() + "/";
    return f();
  }

 private:
  std::string name_;
  std::string default_name_;
};

inline layers::Activation tanh_when_absent(layers::Activation activation) {
  return activation ? activation : layers::Activation(&systole::tanh);
}

// Errors: INVALID_ARGUMENT unless `units` is at least 1.
void check_units(std::string_view cell, int64_t units);

// A state that is one tensor. Errors: INVALID_ARGUMENT for another structure.
const Output& single_state(std::string_view cell, const State& state);

}  // namespace systole::nn::rnn_cell
