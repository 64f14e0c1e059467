#include "systole/train/metrics/at_k.h"

#include <functional>

#include "systole/graph/api/nn_ops.h"
#include "systole/graph/core/composition.h"

namespace systole::rules {
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

Sets sets_of(const metrics::Batch& batch) {
  const Output predictions = resolve_as(batch.metric, batch.predictions, DTypeClass::floating);
  const int64_t k = batch.arguments.integer("k");
  const int rank = predictions.shape().rank();
  const int64_t classes = rank == 0 ? kUnknown : predictions.shape()[rank - 1];
  if (classes == kUnknown || k < 1 || k > classes) {
    throw invalid_argument("k, got {} for predictions {}, expected 1 to the number of classes", k,
                           predictions.type());
  }
  Output labels = cast(resolve(batch.metric, batch.labels, DType::s32), DType::s32);
  if (labels.shape().rank() == rank - 1) labels = expand_dims(labels, -1);
  if (labels.shape().rank() != rank) {
    throw invalid_argument("labels, got {} for predictions {}, expected the same rank or one less",
                           labels.type(), predictions.type());
  }
  const Output outside = logical_or(less(labels, 0), greater_equal(labels, classes));
  return {as_set(labels, classes), as_set(top_k(predictions, {.k = k}).indices, classes),
          reduce_sum(cast(outside, DType::f32), {.axis = rank - 1})};
}

// The hits and `missed`, over all classes or class_id alone.
std::vector<metrics::Sum> at_k_sums(const metrics::Batch& batch, const char* missed_name,
                                    const std::function<Output(const Sets&)>& missed_classes,
                                    bool unknown_is_missed) {
  return with_op(batch.metric, batch.predictions.where(), [&]() -> std::vector<metrics::Sum> {
    const Sets sets = sets_of(batch);
    const std::optional<int64_t> class_id = batch.arguments.optional_integer("class_id");
    const int classes_axis = sets.labels.shape().rank() - 1;
    const auto per_example = [&](const Output& by_class) {
      if (!class_id) return reduce_sum(by_class, {.axis = classes_axis});
      return gather(by_class, static_cast<int32_t>(*class_id), {.axis = classes_axis});
    };
    const Output hits = per_example(sets.labels * sets.predicted);
    Output missed = per_example(missed_classes(sets));
    if (unknown_is_missed && !class_id) missed = missed + sets.unknown;
    const Output weights = metrics::weights_of(batch.metric, hits, batch.weights);
    return {{"true_positive_at_k", reduce_sum(hits * weights)},
            {missed_name, reduce_sum(missed * weights)}};
  });
}

}  // namespace

std::vector<metrics::Sum> labels_found_at_k(const metrics::Batch& batch) {
  return at_k_sums(
      batch, "false_negative_at_k",
      [](const Sets& sets) { return sets.labels * (1.0 - sets.predicted); }, true);
}

std::vector<metrics::Sum> predictions_right_at_k(const metrics::Batch& batch) {
  return at_k_sums(
      batch, "false_positive_at_k",
      [](const Sets& sets) { return sets.predicted * (1.0 - sets.labels); }, false);
}

}  // namespace systole::rules
