#include "systole/keras/files/optimizer_state.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
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
  for (const std::string& name : read_h5_names(file, kOptimizerGroup, "weight_names")) {
    values.push_back(file.read(fmt::format("{}/{}", kOptimizerGroup, name)));
  }
  optimizer.make_state(parameters);
  const std::vector<WeightPtr> weights = optimizer.weights();
  // Versions differ in whether iterations are among the weights.
  const bool keeps_iterations = !weights.empty() && weights[0] == optimizer.iterations();
  std::optional<Tensor> iterations;
  if (!keeps_iterations && values.size() == weights.size() + 1 && is_iterations(values[0])) {
    iterations = values[0].cast(DType::s64);
    values.erase(values.begin());
  }
  values = fitted(optimizer, parameters.size(), std::move(values));
  if (values.empty() && !weights.empty()) return false;
  for (size_t i = 0; i < weights.size(); ++i) weights[i]->set_value(std::move(values[i]));
  if (iterations) optimizer.iterations()->set_value(std::move(*iterations));
  optimizer.restored();
  return true;
}

}  // namespace systole::keras
