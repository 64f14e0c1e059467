#include "systole/train/metrics/metric_def.h"

#include "systole/graph/core/composition.h"
#include "systole/train/example_mask.h"

namespace systole::metrics {
namespace {

bool broadcasts(const Shape& weights, const Shape& values) {
  if (weights.rank() == 0) return true;
  if (weights.rank() != values.rank()) return false;
  for (int axis = 0; axis < weights.rank(); ++axis) {
    const int64_t got = weights[axis];
    if (got != 1 && got != kUnknown && values[axis] != kUnknown && got != values[axis])
      return false;
  }
  return true;
}

Output without_last_axis(const Output& x) { return squeeze(x, {.axis = x.shape().rank() - 1}); }

bool has_one_more_axis(const Output& x, const Output& than) {
  const int rank = x.shape().rank();
  return rank == than.shape().rank() + 1 && x.shape()[rank - 1] == 1;
}

}  // namespace

Metric streaming_metric(const MetricDef& def, const RuleValues& arguments, const Input& labels,
                        const Input& predictions, const Input& weights, const std::string& name) {
  const CompositionScope scope(predictions, name, def.name);
  std::vector<Variable> variables;
  std::vector<Output> before;
  std::vector<Output> after;
  for (const Sum& sum : def.sums({def.name, arguments, labels, predictions, weights})) {
    const Variable variable(
        zeros(sum.addend.shape(), sum.addend.dtype()),
        {.name = sum.name,
         .trainable = false,
         .collections = {std::string(graph_keys::local_variables), "metric_variables"}});
    variables.push_back(variable);
    before.push_back(variable.value());
    after.push_back(variable.assign_add(stop_gradient(sum.addend)));
  }
  const auto named = [&](const std::vector<Output>& sums, const char* result) {
    return identity(def.value != nullptr ? def.value(arguments, sums) : sums[0], {.name = result});
  };
  return {named(before, "value"), named(after, "update_op"), variables};
}

Output safe_divide(const Output& numerator, const Output& denominator) {
  const Output none = less_equal(denominator, 0);
  return where_v2(none, 0, numerator / where_v2(none, 1, denominator));
}

Output weights_of(std::string_view metric, const Output& values, const Input& weights) {
  const Output given = resolve(metric, weights, DType::f32);
  if (!broadcasts(given.shape(), values.shape())) {
    throw at_line(invalid_argument("{}: weights, got {} for values {}, expected a scalar or the "
                                   "same rank with each size equal or 1",
                                   metric, given.type(), values.type()),
                  weights.where());
  }
  return masked_weights(values, given) + zeros_like(values, {.dtype = DType::f32});
}

LabelsAndPredictions resolve_pair(const Batch& batch, DType dtype) {
  Output l = resolve(batch.metric, batch.labels, dtype);
  Output p = resolve(batch.metric, batch.predictions, dtype);
  if (has_one_more_axis(l, p)) l = without_last_axis(l);
  if (has_one_more_axis(p, l)) p = without_last_axis(p);
  if (!l.shape().compatible_with(p.shape())) {
    throw at_line(invalid_argument("{}: labels and predictions, got {} and {}, expected one shape",
                                   batch.metric, l.type(), p.type()),
                  batch.predictions.where());
  }
  return {cast(l, dtype), cast(p, dtype)};
}

std::vector<Sum> mean_sums(const Batch& batch, const Output& values) {
  const Output w = weights_of(batch.metric, values, batch.weights);
  // A NaN with weight 0 must not count.
  const Output weighted = where_v2(equal(w, 0), 0, values * w);
  return {{"total", reduce_sum(weighted)}, {"count", reduce_sum(w)}};
}

Output mean_of(const RuleValues&, const std::vector<Output>& sums) {
  return safe_divide(sums[0], sums[1]);
}

}  // namespace systole::metrics
