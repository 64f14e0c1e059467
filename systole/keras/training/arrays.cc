#include "systole/keras/training/arrays.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/keras/engine/network.h"
#include "systole/keras/training/compile_options.h"

namespace systole::keras {
namespace {

Shape without_batch(const Shape& shape) { return Shape(Dims(shape.begin() + 1, shape.end())); }

Tensor with_feature_axis(const Tensor& array, int wanted_rank) {
  if (array.shape().rank() == 1 && wanted_rank == 2) return array.reshape({array.dim(0), 1});
  return array;
}

// The arrays are of `names`, as far as these are known.
void check_arrays(std::string_view role, std::span<const Tensor> arrays,
                  const std::vector<std::string>& names) {
  for (size_t i = 0; i < arrays.size(); ++i) {
    const Tensor& array = arrays[i];
    if (array.valid() && array.dtype() == DType::string) {
      throw invalid_argument("Error when checking {}: {}, got {}, expected numbers", role,
                             i < names.size() ? names[i] : fmt::format("array {}", i),
                             array.type());
    }
    if (array.valid() && array.rank() > 0) continue;
    throw invalid_argument(
        "Error when checking {}: got {}, expected an array with the samples as its first axis",
        role, array.valid() ? "a scalar" : "no array");
  }
}

// `role`: "input" or "target".
void check_shape(std::string_view role, const std::string& name, const Shape& got,
                 const Shape& expected) {
  if (got.rank() != expected.rank()) {
    throw invalid_argument(
        "Error when checking {}: expected {} to have {} dimensions, but got array with shape {}",
        role, name, expected.rank(), sizes_text(got));
  }
  for (int i = 1; i < got.rank(); ++i) {
    if (expected[i] < 0 || got[i] == expected[i]) continue;
    throw invalid_argument(
        "Error when checking {}: expected {} to have shape {} but got array with shape {}", role,
        name, sizes_text(without_batch(expected)), sizes_text(without_batch(got)));
  }
}

// Warns of ids that an Embedding of input `i` has no row for: it takes the nearest one.
void warn_of_ids(const NetworkDefinition& network, size_t i, const Tensor& ids) {
  if (!is_integer(ids.dtype()) && !is_floating(ids.dtype())) return;
  for (const auto& call : network.calls()) {
    if (call->inputs.size() != 1 || call->inputs[0] != network.inputs()[i]) continue;
    if (call->layer->class_name() != "Embedding") continue;
    const auto rows = call->layer->config().value("input_dim", int64_t{0});
    for (int64_t k = 0; k < ids.num_elements(); ++k) {
      const double id = ids.as_double(k);
      if (id >= 0 && id < static_cast<double>(rows)) continue;
      log_once(LogLevel::warning,
               "layer '{}': ids, got {}, expected 0 to {}: the nearest row stands for others. "
               "input_dim is at least the largest id + 1, such as num_words",
               call->layer->name(), id, rows - 1);
      return;
    }
  }
}

std::vector<Tensor> prepare_inputs(ModelDefinition& model, std::span<const Tensor> x) {
  if (x.empty()) throw invalid_argument("x: got no array, expected one for each input");
  check_arrays("input", x, model.input_names());
  if (model.is_sequential() && model.layers().empty()) {
    throw failed_precondition("Sequential model '{}': got no layers, expected at least one: add()",
                              model.name());
  }
  if (model.input_types().empty()) {
    std::vector<TensorType> types;
    for (const Tensor& array : x) {
      const bool integral = is_integer(array.dtype()) && array.dtype() != DType::u8;
      const Tensor with_axis = with_feature_axis(array, 2);
      types.push_back({integral ? DType::s32 : DType::f32, with_axis.shape()});
    }
    model.build_for(types);
  }
  const std::vector<TensorType> types = model.input_types();
  const std::vector<std::string> names = model.input_names();
  if (!types.empty() && types.size() != x.size()) {
    throw invalid_argument(
        "Error when checking model input: the list of arrays that you are passing to your model "
        "is not the size the model expected. Expected to see {} array(s), but instead got {}",
        types.size(), x.size());
  }
  std::vector<Tensor> prepared;
  for (size_t i = 0; i < x.size(); ++i) {
    if (types.empty()) {
      prepared.push_back(is_floating(x[i].dtype()) ? x[i].cast(DType::f32) : x[i]);
      continue;
    }
    Tensor array = with_feature_axis(x[i], types[i].shape.rank());
    check_shape("input", names.at(i), array.shape(), types[i].shape);
    prepared.push_back(array.dtype() == types[i].dtype ? array : array.cast(types[i].dtype));
  }
  if (const auto* const network = dynamic_cast<const NetworkDefinition*>(&model)) {
    for (size_t i = 0; i < prepared.size(); ++i) warn_of_ids(*network, i, prepared[i]);
  }
  return prepared;
}

// Types of the outputs, with a batch of -1; empty for a model that is no graph of layers.
std::vector<TensorType> output_types(const ModelDefinition& model) {
  std::vector<TensorType> types;
  const auto* const network = dynamic_cast<const NetworkDefinition*>(&model);
  if (network == nullptr) return types;
  for (const KerasTensor& output : network->outputs()) types.push_back(output.type());
  return types;
}

void check_target(const std::string& name, const Shape& target, const Shape& output,
                  const LossSpec& loss) {
  if (loss.sparse()) {
    Dims dims = output.dims();
    dims.back() = 1;
    // Without the trailing axis too.
    const bool bare = target.rank() == output.rank() - 1;
    if (bare) dims.pop_back();
    check_shape("target", name, target, Shape(std::move(dims)));
    return;
  }
  const bool classes = loss.name() == "categorical_crossentropy";
  if (classes && target.rank() == output.rank() && target[-1] == 1 && output[-1] != 1) {
    throw invalid_argument(
        "You are passing a target array of shape {} while using as loss "
        "`categorical_crossentropy`. `categorical_crossentropy` expects targets to be binary "
        "matrices (1s and 0s) of shape (samples, classes). If your targets are integer classes, "
        "use the loss `sparse_categorical_crossentropy`, or to_categorical() first",
        sizes_text(target));
  }
  check_shape("target", name, target, output);
}

// Class numbers of a sparse loss, and those of the one column of a one-hot loss, must be classes.
void check_labels(const std::string& name, const Tensor& target, const Shape& output) {
  const int64_t classes = output[-1];
  if (classes < 0) return;
  const std::span<const float> labels = target.data<float>();
  const int64_t per_example = target.num_elements() / std::max<int64_t>(target.dim(0), 1);
  for (size_t i = 0; i < labels.size(); ++i) {
    const float label = labels[i];
    if (label >= 0 && label < static_cast<float>(classes) && label == std::floor(label)) continue;
    throw invalid_argument(
        "Error when checking target: {} of example {}, got class {}, which is outside the valid "
        "range of [0, {}), expected a whole number in it",
        name, static_cast<int64_t>(i) / std::max<int64_t>(per_example, 1), label, classes);
  }
}

bool has_loss(const CompileOptions& compiled, size_t i, const std::vector<std::string>& names) {
  const std::optional<LossSpec> loss = compiled.loss.of(i, names.size(), names[i]);
  return loss && *loss;
}

// One array for each output: those of outputs without a loss may be left out.
std::vector<Tensor> targets_of_outputs(const std::vector<Tensor>& given,
                                       const std::vector<std::string>& names,
                                       const CompileOptions& compiled, int64_t examples) {
  if (given.size() == names.size()) return given;
  std::vector<std::string> trained;
  for (size_t i = 0; i < names.size(); ++i) {
    if (has_loss(compiled, i, names)) trained.push_back(names[i]);
  }
  if (given.size() != trained.size()) {
    throw invalid_argument(
        "Error when checking model target: the list of arrays that you are passing to your model "
        "is not the size the model expected. Expected to see {} array(s), for outputs {}, but "
        "instead got {}",
        trained.size(), fmt::join(trained, ", "), given.size());
  }
  std::vector<Tensor> all;
  size_t next = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    all.push_back(has_loss(compiled, i, names) ? given[next++]
                                               : Tensor::zeros(DType::f32, {examples, 1}));
  }
  return all;
}

// A cross entropy has no sense, and no lower bound, for other targets.
void warn_of_improbable(const std::string& name, const Tensor& target, const LossSpec& loss) {
  if (loss.name() != "binary_crossentropy") return;
  for (const float value : target.data<float>()) {
    if (!(value < 0 || value > 1)) continue;
    log_once(LogLevel::warning,
             "Error when checking target: {}, got {}, expected numbers from 0 to 1 for the loss "
             "binary_crossentropy, which is negative for others",
             name, value);
    return;
  }
}

std::vector<Tensor> prepare_targets(const ModelDefinition& model, const std::vector<Tensor>& given,
                                    const CompileOptions& compiled, int64_t examples) {
  const std::vector<std::string> names = model.output_names();
  const std::vector<Tensor> y = targets_of_outputs(given, names, compiled, examples);
  check_arrays("target", y, names);
  const std::vector<TensorType> types = output_types(model);
  std::vector<Tensor> prepared;
  for (size_t i = 0; i < y.size(); ++i) {
    Tensor array = with_feature_axis(y[i], 2);
    if (array.dtype() != DType::f32) array = array.cast(DType::f32);
    const std::optional<LossSpec> loss = compiled.loss.of(i, names.size(), names[i]);
    if (loss && *loss && !loss->name().empty() && !types.empty()) {
      check_target(names[i], array.shape(), types[i].shape, *loss);
      if (loss->sparse()) check_labels(names[i], array, types[i].shape);
      warn_of_improbable(names[i], array, *loss);
    }
    prepared.push_back(std::move(array));
  }
  return prepared;
}

void check_sample_weight(const std::string& name, const Tensor& weights, const Tensor& target,
                         const std::string& mode) {
  if (mode != "temporal") {
    if (weights.rank() == 1) return;
    throw invalid_argument(
        "Found a sample_weight array for output '{}' with shape {}. In order to use timestep-wise "
        "sample weights, you should specify sample_weight_mode=\"temporal\" in compile(). If you "
        "just mean to use sample-wise weights, make sure your sample_weight array is 1D",
        name, sizes_text(weights.shape()));
  }
  if (weights.rank() != 2) {
    throw invalid_argument(
        "Found a sample_weight array for output '{}' with shape {}. In order to use "
        "timestep-wise sample weighting, you should pass a 2D sample_weight array",
        name, sizes_text(weights.shape()));
  }
  if (target.rank() < 3) {
    throw invalid_argument(
        "Found a target array for output '{}' with shape {}. Timestep-wise sample weighting "
        "(use of sample_weight_mode=\"temporal\") is restricted to outputs that are at least 3D, "
        "i.e. that have a time dimension",
        name, sizes_text(target.shape()));
  }
  if (weights.dim(1) == target.dim(1)) return;
  throw invalid_argument(
      "Found a sample_weight array for output '{}' with shape {} for a target with shape {}, "
      "expected a weight for each time step",
      name, sizes_text(weights.shape()), sizes_text(target.shape()));
}

std::vector<Tensor> prepare_weights(const ModelDefinition& model,
                                    const std::vector<Tensor>& weights,
                                    const std::vector<Tensor>& y, const CompileOptions& compiled) {
  std::vector<Tensor> prepared;
  if (weights.empty()) return prepared;
  const std::vector<std::string> names = model.output_names();
  if (weights.size() != y.size()) {
    throw invalid_argument("sample_weight, got {} arrays, expected one for each of {} outputs",
                           weights.size(), y.size());
  }
  check_arrays("sample weight", weights, names);
  for (size_t i = 0; i < weights.size(); ++i) {
    const std::string mode = compiled.sample_weight_mode.of(i, names.size(), names[i]).value_or("");
    check_sample_weight(names[i], weights[i], y[i], mode);
    prepared.push_back(weights[i].dtype() == DType::f32 ? weights[i] : weights[i].cast(DType::f32));
  }
  return prepared;
}

void check_counts(const Arrays& arrays) {
  const int64_t count = arrays.examples();
  if (count == 0) throw invalid_argument("x: got no examples, expected at least one");
  const auto check = [&](const std::vector<Tensor>& list, std::string_view what) {
    for (const Tensor& array : list) {
      if (array.dim(0) == count) continue;
      throw invalid_argument(
          "Input arrays should have the same number of samples as {} arrays. Found {} input "
          "samples and {} {} samples.",
          what, count, array.dim(0), what);
    }
  };
  check(arrays.x, "input");
  check(arrays.y, "target");
  check(arrays.sample_weights, "sample weight");
}

// The class of each example by its targets: the largest, or the only one.
std::vector<int64_t> classes_of(const Tensor& y) {
  const int64_t count = y.dim(0);
  const int64_t width = y.num_elements() / std::max<int64_t>(count, 1);
  const std::span<const float> targets = y.data<float>();
  std::vector<int64_t> classes;
  for (int64_t n = 0; n < count; ++n) {
    const auto row = targets.subspan(static_cast<size_t>(n * width), static_cast<size_t>(width));
    classes.push_back(width == 1 ? static_cast<int64_t>(row[0])
                                 : std::ranges::max_element(row) - row.begin());
  }
  return classes;
}

}  // namespace

Arrays prepare_arrays(ModelDefinition& model, const Arrays& arrays,
                      const CompileOptions* compiled) {
  Arrays prepared;
  prepared.x = prepare_inputs(model, arrays.x);
  if (compiled != nullptr) {
    prepared.y = prepare_targets(model, arrays.y, *compiled, prepared.examples());
    prepared.sample_weights = prepare_weights(model, arrays.sample_weights, prepared.y, *compiled);
  }
  check_counts(prepared);
  return prepared;
}

int64_t batch_size_for(const ModelDefinition& model, int64_t given) {
  constexpr int64_t kDefault = 32;
  if (given != kDefault || !model.stateful()) return given;
  const std::vector<TensorType> types = model.input_types();
  const int64_t fixed = types.empty() ? -1 : types[0].shape[0];
  return fixed > 0 ? fixed : given;
}

void check_batch_size(const ModelDefinition& model, int64_t batch_size, int64_t examples) {
  if (batch_size < 1) throw invalid_argument("batch_size, got {}, expected at least 1", batch_size);
  if (examples % batch_size == 0 || !model.stateful()) return;
  throw invalid_argument(
      "In a stateful network, you should only pass inputs with a number of samples that can be "
      "divided by the batch size. Found: {} samples, a batch size of {}",
      examples, batch_size);
}

void apply_class_weight(Arrays& arrays, const std::map<int64_t, double>& class_weight,
                        const std::vector<std::string>& outputs) {
  if (class_weight.empty()) return;
  for (const auto& [label, weight] : class_weight) {
    if (weight >= 0 && std::isfinite(weight)) continue;
    throw invalid_argument("`class_weight`: class {}, got {}, expected a finite number, at least 0",
                           label, weight);
  }
  const int64_t count = arrays.examples();
  const bool given = !arrays.sample_weights.empty();
  for (size_t i = 0; i < arrays.y.size(); ++i) {
    const Tensor& y = arrays.y[i];
    if (y.shape().rank() > 2) {
      throw invalid_argument(
          "`class_weight` not supported for 3+ dimensional targets, got {} for output '{}'",
          y.type(), outputs[i]);
    }
    // The user's array stays as it is.
    Tensor weights =
        given ? arrays.sample_weights[i].clone() : Tensor::full(DType::f32, {count}, 1);
    const std::vector<int64_t> classes = classes_of(y);
    for (size_t n = 0; n < classes.size(); ++n) {
      const auto it = class_weight.find(classes[n]);
      if (it == class_weight.end()) {
        throw invalid_argument(
            "`class_weight` must contain all classes in the data. The class {} "
            "exists in the data but not in `class_weight`.",
            classes[n]);
      }
      weights.data<float>()[n] *= static_cast<float>(it->second);
    }
    if (given) {
      arrays.sample_weights[i] = std::move(weights);
    } else {
      arrays.sample_weights.push_back(std::move(weights));
    }
  }
}

std::pair<Arrays, Arrays> split_arrays(const Arrays& arrays, double split) {
  if (!(split > 0 && split < 1)) {
    throw invalid_argument("validation_split, got {}, expected a number between 0 and 1", split);
  }
  const int64_t count = arrays.examples();
  const auto at = static_cast<int64_t>(static_cast<double>(count) * (1 - split));
  if (at == 0 || at == count) {
    throw invalid_argument(
        "validation_split, got {} of {} examples, expected examples in both "
        "parts",
        split, count);
  }
  const auto part = [&](int64_t begin, int64_t end) {
    Arrays result;
    for (const Tensor& a : arrays.x) result.x.push_back(a.slice(begin, end));
    for (const Tensor& a : arrays.y) result.y.push_back(a.slice(begin, end));
    for (const Tensor& a : arrays.sample_weights) {
      result.sample_weights.push_back(a.slice(begin, end));
    }
    return result;
  };
  return {part(0, at), part(at, count)};
}

void warn_of_missing_classes(const Arrays& train, const Arrays& validation,
                             const CompileOptions& compiled,
                             const std::vector<std::string>& outputs) {
  for (size_t i = 0; i < train.y.size(); ++i) {
    const std::optional<LossSpec> loss = compiled.loss.of(i, outputs.size(), outputs[i]);
    if (!loss || !loss->name().ends_with("crossentropy") || train.y[i].rank() != 2) continue;
    const std::vector<int64_t> known = classes_of(train.y[i]);
    const std::set<int64_t> trained(known.begin(), known.end());
    std::set<int64_t> missing;
    for (const int64_t label : classes_of(validation.y[i])) {
      if (!trained.contains(label)) missing.insert(label);
    }
    if (missing.empty()) continue;
    log_warning(
        "validation_split takes the last {} examples before they are shuffled; their class{} {} "
        "of output '{}' {} not in the other {}: shuffle the arrays first",
        validation.examples(), missing.size() == 1 ? "" : "es", fmt::join(missing, ", "),
        outputs[i], missing.size() == 1 ? "is" : "are", train.examples());
  }
}

}  // namespace systole::keras
