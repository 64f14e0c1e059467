// recall_at_k and precision_at_k.
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/train/metrics/accumulate.h"

namespace systole::metrics {
namespace {

struct Sets {
  Output labels;     // [.., classes]: 1 where a class is a label, once however often it is named
  Output predicted;  // [.., classes]: 1 where a class is among the k highest
  Output unknown;    // [..]: how many labels are no class
};

Output as_set(const Output& classes, int64_t num_classes) {
  const Output hot = one_hot(classes, num_classes);
  return reduce_max(hot, {.axis = hot.shape().rank() - 2});
}

Sets sets_of(std::string_view metric, const AtKOptions& options) {
  const Output predictions = resolve_as(metric, options.predictions, DTypeClass::floating);
  const int rank = predictions.shape().rank();
  const int64_t classes = rank == 0 ? kUnknown : predictions.shape()[rank - 1];
  if (classes == kUnknown || options.k < 1 || options.k > classes) {
    throw invalid_argument("k, got {} for predictions {}, expected 1 to the number of classes",
                           options.k, predictions.type());
  }
  Output labels = cast(resolve(metric, options.labels, DType::s32), DType::s32);
  if (labels.shape().rank() == rank - 1) labels = expand_dims(labels, -1);
  if (labels.shape().rank() != rank) {
    throw invalid_argument("labels, got {} for predictions {}, expected the same rank or one less",
                           labels.type(), predictions.type());
  }
  const Output outside = logical_or(less(labels, 0), greater_equal(labels, classes));
  return {as_set(labels, classes), as_set(top_k(predictions, {.k = options.k}).indices, classes),
          reduce_sum(cast(outside, DType::f32), {.axis = rank - 1})};
}

// Accumulates the hits and `missed`, over all classes or class_id alone.
Metric at_k(std::string_view metric, const char* missed_name, const AtKOptions& options,
            const std::function<Output(const Sets&)>& missed_classes, bool unknown_is_missed) {
  const CompositionScope scope(options.predictions, options.name, metric);
  return with_op(metric, options.predictions.where(), [&] {
    const Sets sets = sets_of(metric, options);
    const int classes_axis = sets.labels.shape().rank() - 1;
    const auto per_example = [&](const Output& by_class) {
      if (!options.class_id) return reduce_sum(by_class, {.axis = classes_axis});
      return gather(by_class, static_cast<int32_t>(*options.class_id), {.axis = classes_axis});
    };
    const Output hits = per_example(sets.labels * sets.predicted);
    Output missed = per_example(missed_classes(sets));
    if (unknown_is_missed && !options.class_id) missed = missed + sets.unknown;
    const Output weights = weights_of(metric, hits, options.weights);
    return accumulate(
        {{"true_positive_at_k", reduce_sum(hits * weights)},
         {missed_name, reduce_sum(missed * weights)}},
        // NaN, as in TensorFlow, where nothing counts: no example has the class.
        [](const std::vector<Output>& sums) { return sums[0] / (sums[0] + sums[1]); });
  });
}

}  // namespace

Metric recall_at_k(const AtKOptions& options) {
  return at_k(
      "recall_at_k", "false_negative_at_k", options,
      [](const Sets& sets) { return sets.labels * (1.0 - sets.predicted); }, true);
}

Metric precision_at_k(const AtKOptions& options) {
  return at_k(
      "precision_at_k", "false_positive_at_k", options,
      [](const Sets& sets) { return sets.predicted * (1.0 - sets.labels); }, false);
}

}  // namespace systole::metrics
