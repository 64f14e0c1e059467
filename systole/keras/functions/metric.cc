#include "systole/keras/functions/metric.h"

#include <map>

#include "systole/base/error.h"
#include "systole/base/suggest.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"

namespace systole::keras {
namespace {

Output binary_accuracy(const Output& t, const Output& p) {
  return reduce_mean(cast(equal(t, cast(greater(p, 0.5F), t.dtype())), DType::f32), {.axis = -1});
}

Output categorical_accuracy(const Output& t, const Output& p) {
  return cast(equal(argmax(t, {.axis = -1}), argmax(p, {.axis = -1})), DType::f32);
}

Output sparse_labels(const Output& t, const Output& p) {
  return t.shape().rank() == p.shape().rank() ? reduce_max(t, {.axis = -1}) : t;
}

Output sparse_categorical_accuracy(const Output& t, const Output& p) {
  const Output labels = cast(sparse_labels(t, p), DType::s64);
  return cast(equal(labels, cast(argmax(p, {.axis = -1}), DType::s64)), DType::f32);
}

// Whether the label's value is among the k largest.
Output in_top_k(const Output& label_value, const Output& p, int64_t k) {
  const Output larger =
      reduce_sum(cast(greater(p, expand_dims(label_value, -1)), DType::f32), {.axis = -1});
  return cast(less(larger, static_cast<double>(k)), DType::f32);
}

Output top_k_categorical_accuracy(const Output& t, const Output& p) {
  const Output chosen = one_hot(argmax(t, {.axis = -1}), p.shape()[p.shape().rank() - 1]);
  return in_top_k(reduce_sum(chosen * p, {.axis = -1}), p, 5);
}

Output sparse_top_k_categorical_accuracy(const Output& t, const Output& p) {
  const Output labels = cast(sparse_labels(t, p), DType::s32);
  const Output chosen = one_hot(labels, p.shape()[p.shape().rank() - 1]);
  return in_top_k(reduce_sum(chosen * p, {.axis = -1}), p, 5);
}

std::map<std::string, MetricFn>& metric_table() {
  static std::map<std::string, MetricFn> functions = {
      {"binary_accuracy", binary_accuracy},
      {"categorical_accuracy", categorical_accuracy},
      {"sparse_categorical_accuracy", sparse_categorical_accuracy},
      {"top_k_categorical_accuracy", top_k_categorical_accuracy},
      {"sparse_top_k_categorical_accuracy", sparse_top_k_categorical_accuracy},
  };
  return functions;
}

bool is_loss(const std::string& name) {
  const std::vector<std::string> names = loss_names();
  return std::ranges::find(names, name) != names.end();
}

MetricFn loss_as_metric(const std::string& name) {
  const LossSpec loss(name);
  return [loss](const Output& t, const Output& p) { return loss(t, p); };
}

// The one of three functions that fits an output and its loss.
template <class F>
F by_output(const Shape& output, const LossSpec& loss, F binary, F categorical, F sparse) {
  const int64_t last = output.rank() == 0 ? 1 : output[output.rank() - 1];
  if (last == 1 || loss.name() == "binary_crossentropy") return binary;
  return loss.sparse() ? sparse : categorical;
}

}  // namespace

MetricSpec::Resolved MetricSpec::resolve(const Shape& output, const LossSpec& loss) const {
  if (function_) return {name_, function_};
  if (name_ == "accuracy" || name_ == "acc") {
    return {"acc", by_output<MetricFn>(output, loss, binary_accuracy, categorical_accuracy,
                                       sparse_categorical_accuracy)};
  }
  if (name_ == "crossentropy" || name_ == "ce") {
    return {"ce", loss_as_metric(by_output<std::string>(output, loss, "binary_crossentropy",
                                                        "categorical_crossentropy",
                                                        "sparse_categorical_crossentropy"))};
  }
  if (const auto it = metric_table().find(name_); it != metric_table().end())
    return {name_, it->second};
  if (is_loss(name_)) return {LossSpec(name_).name(), loss_as_metric(name_)};
  throw not_found("Unknown metric function:{}{}", name_, did_you_mean(name_, metric_names()));
}

void register_metric(const std::string& name, MetricFn function) {
  if (!metric_table().emplace(name, std::move(function)).second) {
    throw make_error(Code::already_exists, "metric '{}' is registered already", name);
  }
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names = loss_names();
  for (const auto& [name, function] : metric_table()) names.push_back(name);
  for (const char* name : {"accuracy", "acc", "crossentropy", "ce"}) names.emplace_back(name);
  return names;
}

}  // namespace systole::keras
