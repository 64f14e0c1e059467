// Keras's accuracies: whether the answer to each example is right.
#pragma once

#include "systole/graph/api/nn_ops.h"
#include "systole/train/metrics/metric_def.h"

namespace systole {

namespace rules {

// Class numbers of targets [..] or [.., 1].
inline Output sparse_labels(const Output& labels, const Output& predictions) {
  const bool column = labels.shape().rank() == predictions.shape().rank();
  return cast(column ? reduce_max(labels, {.axis = -1}) : labels, DType::s64);
}

// Returns whether the prediction for the class is among the k largest.
inline Output is_in_top_k(const RuleValues& arguments, const Output& classes,
                          const Output& predictions) {
  const Output chosen = one_hot(classes, predictions.shape()[-1]);
  const Output own = reduce_sum(chosen * predictions, {.axis = -1});
  const Output larger =
      reduce_sum(cast(greater(predictions, expand_dims(own, -1)), DType::f32), {.axis = -1});
  return cast(less(larger, arguments.number("k")), DType::f32);
}

struct BinaryAccuracy : MetricRule {
  static Output keras_value(const RuleValues&, const Output& t, const Output& p) {
    return reduce_mean(cast(equal(t, cast(greater(p, 0.5F), t.dtype())), DType::f32), {.axis = -1});
  }
  static constexpr MetricDef def{.keras_name = "binary_accuracy", .keras_value = keras_value};
};

struct CategoricalAccuracy : MetricRule {
  static Output keras_value(const RuleValues&, const Output& t, const Output& p) {
    return cast(equal(argmax(t, {.axis = -1}), argmax(p, {.axis = -1})), DType::f32);
  }
  static constexpr MetricDef def{.keras_name = "categorical_accuracy", .keras_value = keras_value};
};

struct SparseCategoricalAccuracy : MetricRule {
  static Output keras_value(const RuleValues&, const Output& t, const Output& p) {
    return cast(equal(sparse_labels(t, p), cast(argmax(p, {.axis = -1}), DType::s64)), DType::f32);
  }
  static constexpr MetricDef def{.keras_name = "sparse_categorical_accuracy",
                                 .keras_value = keras_value};
};

inline constexpr std::array kTopKArguments = {
    RuleArgument{.name = "k", .kind = RuleArgumentKind::integer, .usual = 5}};

struct TopKCategoricalAccuracy : MetricRule {
  static constexpr std::array kArguments = kTopKArguments;
  static Output keras_value(const RuleValues& arguments, const Output& t, const Output& p) {
    return is_in_top_k(arguments, argmax(t, {.axis = -1}), p);
  }
  static constexpr MetricDef def{.keras_name = "top_k_categorical_accuracy",
                                 .keras_object_is_total = false,
                                 .arguments = kArguments,
                                 .keras_value = keras_value};
};

struct SparseTopKCategoricalAccuracy : MetricRule {
  static constexpr std::array kArguments = kTopKArguments;
  static Output keras_value(const RuleValues& arguments, const Output& t, const Output& p) {
    return is_in_top_k(arguments, sparse_labels(t, p), p);
  }
  static constexpr MetricDef def{.keras_name = "sparse_top_k_categorical_accuracy",
                                 .keras_object_is_total = false,
                                 .arguments = kArguments,
                                 .keras_value = keras_value};
};

}  // namespace rules

namespace keras {

// Whether the class is among the k most likely ones: top_k_categorical_accuracy(2).
inline constexpr metrics::MetricOfK<rules::TopKCategoricalAccuracy> top_k_categorical_accuracy;
inline constexpr metrics::MetricOfK<rules::SparseTopKCategoricalAccuracy>
    sparse_top_k_categorical_accuracy;

namespace metrics {
// NOLINTBEGIN(readability-identifier-naming): the names of Keras.
inline constexpr MetricClass<rules::BinaryAccuracy> BinaryAccuracy;
inline constexpr MetricClass<rules::CategoricalAccuracy> CategoricalAccuracy;
inline constexpr MetricClass<rules::SparseCategoricalAccuracy> SparseCategoricalAccuracy;
// NOLINTEND(readability-identifier-naming)
}  // namespace metrics

}  // namespace keras

}  // namespace systole
