#include "systole/keras/training/arrays.h"

#include <algorithm>

#include "systole/base/error.h"

namespace systole::keras {
namespace {

Shape without_batch(const Shape& shape) { return Shape(Dims(shape.begin() + 1, shape.end())); }

Tensor with_feature_axis(const Tensor& array, int wanted_rank) {
  if (array.shape().rank() == 1 && wanted_rank == 2) return array.reshape({array.dim(0), 1});
  return array;
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

std::vector<Tensor> prepare_inputs(ModelDefinition& model, std::span<const Tensor> x) {
  if (x.empty()) throw invalid_argument("x: got no array, expected one for each input");
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

}  // namespace

Arrays prepare_arrays(ModelDefinition& model, std::span<const Tensor> x,
                      const std::vector<Tensor>* y, std::span<const Tensor> sample_weights) {
  Arrays arrays;
  arrays.x = prepare_inputs(model, x);
  if (y != nullptr) {
    const size_t outputs = model.output_names().size();
    if (y->size() != outputs) {
      throw invalid_argument(
          "Error when checking model target: got {} arrays, expected one for each of {} outputs",
          y->size(), outputs);
    }
    for (const Tensor& target : *y) {
      const Tensor array = with_feature_axis(target, 2);
      arrays.y.push_back(array.dtype() == DType::f32 ? array : array.cast(DType::f32));
    }
  }
  for (const Tensor& weights : sample_weights) {
    arrays.sample_weights.push_back(weights.dtype() == DType::f32 ? weights
                                                                  : weights.cast(DType::f32));
  }
  check_counts(arrays);
  return arrays;
}

void apply_class_weight(Arrays& arrays, const std::map<int64_t, double>& class_weight,
                        const std::vector<std::string>& outputs) {
  if (class_weight.empty()) return;
  const int64_t count = arrays.examples();
  if (arrays.sample_weights.empty()) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      arrays.sample_weights.push_back(Tensor::full(DType::f32, {count}, 1));
    }
  }
  for (size_t i = 0; i < arrays.y.size(); ++i) {
    const Tensor& y = arrays.y[i];
    if (y.shape().rank() > 2) {
      throw invalid_argument(
          "`class_weight` not supported for 3+ dimensional targets, got {} for output '{}'",
          y.type(), outputs[i]);
    }
    const int64_t classes = y.num_elements() / count;
    const std::span<const float> targets = y.data<float>();
    const std::span<float> weights = arrays.sample_weights[i].data<float>();
    for (int64_t n = 0; n < count; ++n) {
      const auto row =
          targets.subspan(static_cast<size_t>(n * classes), static_cast<size_t>(classes));
      const int64_t label =
          classes == 1 ? static_cast<int64_t>(row[0]) : std::ranges::max_element(row) - row.begin();
      const auto it = class_weight.find(label);
      if (it == class_weight.end()) {
        throw invalid_argument(
            "`class_weight` must contain all classes in the data. The class {} "
            "exists in the data but not in `class_weight`.",
            label);
      }
      weights[static_cast<size_t>(n)] *= static_cast<float>(it->second);
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

}  // namespace systole::keras
