#include "systole/keras/files/optimizer_state.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "systole/base/error.h"
#include "systole/keras/files/h5_weights.h"

namespace systole::keras {
namespace {

constexpr const char* kOptimizerGroup = "optimizer_weights";

// Adam without amsgrad has arrays of one zero in place of the greatest moments. Files that are
// older than amsgrad lack them.
void add_missing_maxima(const OptimizerDefinition& optimizer, size_t parameters,
                        std::vector<Tensor>& values) {
  if (optimizer.class_name() != "Adam" || optimizer.config().value("amsgrad", false)) return;
  if (values.size() != 1 + 2 * parameters) return;
  for (size_t i = 0; i < parameters; ++i) values.push_back(Tensor::zeros(DType::f32, {1}));
}

bool is_iterations(const Tensor& value) {
  return value.rank() == 0 && (is_integer(value.dtype()) || is_floating(value.dtype()));
}

// The file's arrays, one for each of the optimizer's weights; empty where they do not fit.
std::vector<Tensor> fitted(const OptimizerDefinition& optimizer, size_t parameters,
                           std::vector<Tensor> values) {
  const std::vector<WeightPtr> weights = optimizer.weights();
  add_missing_maxima(optimizer, parameters, values);
  if (values.size() != weights.size()) return {};
  for (size_t i = 0; i < weights.size(); ++i) {
    if (values[i].shape() != weights[i]->shape() || values[i].dtype() == DType::string) return {};
    values[i] = values[i].cast(weights[i]->type().dtype);
  }
  return values;
}

// Slots in our order, slot by slot, from a file of TensorFlow from 2.11 on or of Keras 3, which has
// the first `interleaved` of each parameter side by side. REQUIRES: at least these.
std::vector<Tensor> from_interleaved(std::vector<Tensor> slots, size_t parameters,
                                     size_t interleaved) {
  std::vector<Tensor> sorted;
  for (size_t kind = 0; kind < interleaved; ++kind) {
    for (size_t i = 0; i < parameters; ++i) sorted.push_back(slots[interleaved * i + kind]);
  }
  for (size_t i = interleaved * parameters; i < slots.size(); ++i) {
    sorted.push_back(std::move(slots[i]));
  }
  return sorted;
}

// Sets all weights, or none.
bool set_weights_of(OptimizerDefinition& optimizer, std::vector<Tensor> values, size_t parameters) {
  const std::vector<WeightPtr> weights = optimizer.weights();
  // Versions differ in whether iterations are among the weights.
  const bool keeps_iterations = !weights.empty() && weights[0] == optimizer.iterations();
  std::optional<Tensor> iterations;
  if (!keeps_iterations && values.size() == weights.size() + 1 && is_iterations(values[0])) {
    iterations = values[0].cast(DType::s64);
    values.erase(values.begin());
  }
  values = fitted(optimizer, parameters, std::move(values));
  if (values.empty() && !weights.empty()) return false;
  for (size_t i = 0; i < weights.size(); ++i) weights[i]->set_value(std::move(values[i]));
  if (iterations) optimizer.iterations()->set_value(std::move(*iterations));
  optimizer.restored();
  return true;
}

// "iteration:0" of TensorFlow from 2.11 on, "adam/iteration" of Keras 3; older ones have
// "iterations".
bool is_new_layout(const std::vector<std::string>& names) {
  return !names.empty() && (names[0].ends_with("iteration:0") || names[0].ends_with("/iteration"));
}

}  // namespace

void write_optimizer_state(Hdf5Writer& file, const OptimizerDefinition& optimizer) {
  if (!optimizer.has_state()) return;
  const std::string scope = optimizer.class_name();
  std::vector<std::string> names;
  std::vector<Tensor> values;
  size_t slots = 0;
  const auto add_slot = [&](Tensor value) {
    names.push_back(slots == 0 ? fmt::format("training/{}/Variable:0", scope)
                               : fmt::format("training/{}/Variable_{}:0", scope, slots));
    ++slots;
    values.push_back(std::move(value));
  };
  const std::vector<WeightPtr> weights = optimizer.weights();
  for (const WeightPtr& weight : weights) {
    if (weight == optimizer.iterations()) {
      names.push_back(scope + "/iterations:0");
      values.push_back(weight->value());
    } else {
      add_slot(weight->value());
    }
  }
  file.add_group(kOptimizerGroup);
  write_h5_names(file, kOptimizerGroup, "weight_names", names);
  for (size_t i = 0; i < names.size(); ++i) {
    file.add_array(fmt::format("{}/{}", kOptimizerGroup, names[i]), values[i]);
  }
}

bool read_optimizer_state(const Hdf5Reader& file, OptimizerDefinition& optimizer,
                          std::span<const WeightPtr> parameters) {
  if (!file.contains(kOptimizerGroup)) return false;
  std::vector<Tensor> values;
  const std::vector<std::string> names = read_h5_names(file, kOptimizerGroup, "weight_names");
  for (const std::string& name : names) {
    values.push_back(file.read(fmt::format("{}/{}", kOptimizerGroup, name)));
  }
  if (is_new_layout(names)) {
    return set_keras3_optimizer_values(std::move(values), optimizer, parameters);
  }
  optimizer.make_state(parameters);
  // TensorFlow 2.0 to 2.10 keep the product of Nadam's momenta, which restored() finds.
  if (optimizer.class_name() == "Nadam" && values.size() == optimizer.weights().size() + 1 &&
      values[1].rank() == 0) {
    values.erase(values.begin() + 1);
  }
  return set_weights_of(optimizer, std::move(values), parameters.size());
}

std::vector<Tensor> keras3_optimizer_values(const OptimizerDefinition& optimizer) {
  if (!optimizer.has_state()) return {};
  std::vector<Tensor> values = {optimizer.iterations()->value()};
  const Json config = optimizer.config();
  if (optimizer.lr() && config.value("decay", 0.0) == 0) values.push_back(optimizer.lr()->value());
  std::vector<Tensor> slots;
  for (const WeightPtr& weight : optimizer.weights()) {
    if (weight != optimizer.iterations()) slots.push_back(weight->value());
  }
  const auto [kinds, interleaved] = optimizer.slot_layout();
  const size_t parameters = kinds == 0 ? 0 : slots.size() / kinds;
  if (optimizer.class_name() == "Adam" && !config.value("amsgrad", false)) {
    slots.resize(2 * parameters);
  }
  for (size_t i = 0; i < parameters; ++i) {
    for (size_t kind = 0; kind < interleaved; ++kind) {
      values.push_back(slots[kind * parameters + i]);
    }
  }
  values.insert(values.end(), slots.begin() + static_cast<std::ptrdiff_t>(interleaved * parameters),
                slots.end());
  return values;
}

bool set_keras3_optimizer_values(std::vector<Tensor> values, OptimizerDefinition& optimizer,
                                 std::span<const WeightPtr> parameters) {
  if (values.empty() || !is_iterations(values[0])) return false;
  optimizer.make_state(parameters);
  const Tensor iterations = values[0];
  values.erase(values.begin());
  std::optional<Tensor> rate;
  const size_t count = parameters.size();
  const bool scalars = count > 0 && parameters[0]->shape().rank() == 0;  // so are their slots
  if (!values.empty() && values[0].rank() == 0 && (!scalars || values.size() % count != 0)) {
    rate = values[0];
    values.erase(values.begin());
  }
  // TensorFlow 2.11 to 2.15 have slots also without a momentum.
  if (optimizer.class_name() == "SGD" && optimizer.weights().size() == 1) values.clear();
  const size_t interleaved = optimizer.slot_layout().interleaved;
  if (values.size() < interleaved * count) return false;
  values = from_interleaved(std::move(values), count, interleaved);
  values.insert(values.begin(), iterations);
  if (!set_weights_of(optimizer, std::move(values), count)) return false;
  if (rate && optimizer.lr()) optimizer.lr()->set_value(rate->cast(DType::f32));
  return true;
}

}  // namespace systole::keras
