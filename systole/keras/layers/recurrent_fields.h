// Recurrent layers as classes over their cells: the arguments that they share, and the layer.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/core.h"
#include "systole/keras/layers/recurrent_layer.h"

namespace systole::keras::layers {

// The arguments of a cell that options O have.
template <class O>
std::vector<Field<O>> cell_fields() {
  std::vector<Field<O>> all = {required("units", &O::units)};
  if constexpr (requires { &O::activation; }) all.push_back(field("activation", &O::activation));
  if constexpr (requires { &O::recurrent_activation; }) {
    all.push_back(field("recurrent_activation", &O::recurrent_activation));
  }
  if constexpr (requires { &O::use_bias; }) all.push_back(field("use_bias", &O::use_bias));
  all.push_back(field("kernel_initializer", &O::kernel_initializer));
  all.push_back(field("recurrent_initializer", &O::recurrent_initializer));
  all.push_back(field("bias_initializer", &O::bias_initializer));
  if constexpr (requires { &O::unit_forget_bias; }) {
    all.push_back(field("unit_forget_bias", &O::unit_forget_bias));
  }
  all.push_back(field("kernel_regularizer", &O::kernel_regularizer));
  all.push_back(field("recurrent_regularizer", &O::recurrent_regularizer));
  all.push_back(field("bias_regularizer", &O::bias_regularizer));
  all.push_back(field("kernel_constraint", &O::kernel_constraint));
  all.push_back(field("recurrent_constraint", &O::recurrent_constraint));
  all.push_back(field("bias_constraint", &O::bias_constraint));
  if constexpr (requires { &O::dropout; }) {
    all.push_back(field("dropout", &O::dropout));
    all.push_back(field("recurrent_dropout", &O::recurrent_dropout));
  }
  if constexpr (requires { &O::implementation; }) {
    all.push_back(field("implementation", &O::implementation));
  }
  if constexpr (requires { &O::reset_after; }) all.push_back(field("reset_after", &O::reset_after));
  return all;
}

// Returns the fields of the loop.
template <class O>
std::vector<Field<O>> recurrence_fields() {
  std::vector<Field<O>> all = {
      field("return_sequences", &O::return_sequences), field("return_state", &O::return_state),
      field("go_backwards", &O::go_backwards), field("stateful", &O::stateful)};
  if constexpr (requires { &O::unroll; }) all.push_back(field("unroll", &O::unroll));
  return all;
}

template <class O>
RecurrenceOptions recurrence_of(const O& o) {
  RecurrenceOptions made{.return_sequences = o.return_sequences,
                         .return_state = o.return_state,
                         .go_backwards = o.go_backwards,
                         .stateful = o.stateful};
  if constexpr (requires { o.unroll; }) made.unroll = o.unroll;
  return made;
}

// The recurrent layer over `Cell`, which has the name of the layer's class, kLayerName, and a
// constructor from options O. Errors of the cell's constructor get the layer's name.
template <class Cell, class O>
class CellLoop : public LayerOf<CellLoop<Cell, O>, O, RecurrentLayer> {
  using Base = LayerOf<CellLoop<Cell, O>, O, RecurrentLayer>;

 public:
  static constexpr std::string_view kClassName = Cell::kLayerName;
  static std::vector<Field<O>> fields() {
    std::vector<Field<O>> all = cell_fields<O>();
    all.push_back(field("activity_regularizer", &O::activity_regularizer));
    for (Field<O>& of_loop : recurrence_fields<O>()) all.push_back(std::move(of_loop));
    return all;
  }
  explicit CellLoop(const O& options) : Base(options, make_cell(options), recurrence_of(options)) {
    this->set_activity_regularizer(options.activity_regularizer.function());
  }
  std::shared_ptr<RecurrentLayer> reversed() const override {
    O options = this->options_;
    options.go_backwards = !options.go_backwards;
    auto made = std::make_shared<CellLoop>(options);
    if (!this->trainable()) made->set_trainable(false);
    return made;
  }

 private:
  static std::shared_ptr<Cell> make_cell(const O& options) {
    try {
      return std::make_shared<Cell>(options);
    } catch (const Error& error) {
      throw invalid_argument("{}: {}", kClassName, error.message());
    }
  }
};

// The class of a recurrent layer or cell. Besides its own arguments it takes those that other
// versions of Keras write and that change nothing here.
template <class Derived, class O>
LayerClass recurrent_class() {
  LayerClass made = layer_class<Derived, O>();
  std::vector<std::string> unused = {"time_major", "zero_output_for_mask", "num_constants",
                                     "activity_regularizer"};
  std::erase_if(unused, [&](const std::string& name) {
    return std::ranges::find(made.arguments, name, &ArgumentDoc::name) != made.arguments.end();
  });
  made.from_config = [make = made.from_config, unused](const Json& given) {
    Json config = given;
    for (const std::string& off : unused) {
      const auto it = config.find(off);
      if (it != config.end() && (it->is_null() || *it == false)) config.erase(it);
    }
    if constexpr (!requires { &O::implementation; }) config.erase("implementation");
    return make(config);
  };
  return made;
}

template <class Derived, class O>
std::shared_ptr<LayerDefinition> make_with_units(int64_t units, O options, Where where) {
  options.units = units;
  return make_layer<Derived>(std::move(options), where);
}

}  // namespace systole::keras::layers
