// The metrics of metrics.h, applied to the classes, probabilities or numbers of a model.
#include "apps/systole/train/model_tables.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"

namespace systole::app {
namespace {

using metrics::PredictionOptions;

constexpr ConfigKey kMetricName = {"name", "text", "",
                                   "Name of the result; the metric's name by default."};
constexpr ConfigKey kNameKeys[] = {kMetricName};
constexpr ConfigKey kAucKeys[] = {{"num_thresholds", "integer", "200", "Number of thresholds."},
                                  {"curve", "text", "ROC", "ROC or PR."},
                                  kMetricName};
constexpr ConfigKey kAtKKeys[] = {{"k", "integer", "1", "Number of classes to consider."},
                                  {"class_id", "integer", "", "Count this class only."},
                                  kMetricName};
constexpr ConfigKey kConfusionKeys[] = {
    {"num_classes", "integer", "", "By default the size of the last layer."}, kMetricName};

std::string name_of(const ConfigSection& s) { return s.text("name", s.name()); }

// Converts labels to the shape of the classes: one-hot rows to class numbers, [batch, 1] to
// [batch].
Output class_labels(const Output& labels, const HeadOutputs& outputs) {
  const int rank = outputs.classes.type().shape.rank();
  if (labels.type().shape.rank() == rank + 1) {
    return outputs.head == Head::softmax ? argmax(labels, {.axis = -1, .output_type = DType::s32})
                                         : cast(squeeze(labels, {.axis = {-1}}), DType::s32);
  }
  const Output result = cast(labels, DType::s32);
  return labels.type().shape.rank() + 1 == rank ? expand_dims(result, -1) : result;
}

Output number_labels(const Output& labels, const Output& predictions) {
  const bool narrower = labels.type().shape.rank() + 1 == predictions.type().shape.rank();
  return cast(narrower ? expand_dims(labels, -1) : labels, predictions.dtype());
}

template <Metric (*Build)(const PredictionOptions&)>
NamedMetric of_classes(const ConfigSection& s) {
  return {.name = name_of(s),
          .needs_classes = true,
          .build = [](const Output& labels, const HeadOutputs& outputs) {
            return Build({.labels = class_labels(labels, outputs), .predictions = outputs.classes});
          }};
}

template <Metric (*Build)(const PredictionOptions&)>
NamedMetric of_numbers(const ConfigSection& s) {
  return {.name = name_of(s),
          .needs_classes = false,
          .build = [](const Output& labels, const HeadOutputs& outputs) {
            return Build(
                {.labels = number_labels(labels, outputs.output), .predictions = outputs.output});
          }};
}

template <Metric (*Build)(const metrics::AtKOptions&)>
NamedMetric at_k(const ConfigSection& s) {
  return {.name = name_of(s),
          .needs_classes = true,
          .build = [k = s.integer("k", 1), class_id = s.optional_integer("class_id")](
                       const Output& labels, const HeadOutputs& outputs) {
            return Build({.labels = class_labels(labels, outputs),
                          .predictions = outputs.output,
                          .k = k,
                          .class_id = class_id});
          }};
}

NamedMetric auc(const ConfigSection& s) {
  return {.name = name_of(s),
          .needs_classes = true,
          .build = [thresholds = s.integer("num_thresholds", 200), curve = s.text("curve", "ROC")](
                       const Output& labels, const HeadOutputs& outputs) {
            const Output truth = outputs.head == Head::softmax && labels.type().shape.rank() == 1
                                     ? one_hot(labels, last_size(outputs.output))
                                     : number_labels(labels, outputs.probabilities);
            return metrics::auc({.labels = cast(truth, DType::pred),
                                 .predictions = outputs.probabilities,
                                 .num_thresholds = thresholds,
                                 .curve = curve});
          }};
}

NamedMetric confusion_matrix(const ConfigSection& s) {
  return {.name = name_of(s),
          .needs_classes = true,
          .build = [classes = s.optional_integer("num_classes")](const Output& labels,
                                                                 const HeadOutputs& outputs) {
            const int64_t size =
                outputs.head == Head::softmax ? last_size(outputs.output) : int64_t{2};
            return metrics::confusion_matrix({.labels = class_labels(labels, outputs),
                                              .predictions = outputs.classes,
                                              .num_classes = classes.value_or(size)});
          }};
}

NamedMetric mean(const ConfigSection& s) {
  return {.name = name_of(s),
          .needs_classes = false,
          .build = [](const Output&, const HeadOutputs& outputs) {
            return metrics::mean({.values = outputs.output});
          }};
}

const ConfigRow<NamedMetric> kMetrics[] = {
    {"accuracy", "Fraction of correct classes.", kNameKeys, &of_classes<&metrics::accuracy>},
    {"precision", "True positives / predicted positives.", kNameKeys,
     &of_classes<&metrics::precision>},
    {"recall", "True positives / actual positives.", kNameKeys, &of_classes<&metrics::recall>},
    {"true_positives", "A count.", kNameKeys, &of_classes<&metrics::true_positives>},
    {"false_positives", "A count.", kNameKeys, &of_classes<&metrics::false_positives>},
    {"true_negatives", "A count.", kNameKeys, &of_classes<&metrics::true_negatives>},
    {"false_negatives", "A count.", kNameKeys, &of_classes<&metrics::false_negatives>},
    {"auc", "The area under the curve.", kAucKeys, &auc},
    {"recall_at_k", "Fraction of labels among the k most probable classes.", kAtKKeys,
     &at_k<&metrics::recall_at_k>},
    {"precision_at_k", "Fraction of the k most probable classes that are labels.", kAtKKeys,
     &at_k<&metrics::precision_at_k>},
    {"confusion_matrix", "Counts of label i predicted as class j.", kConfusionKeys,
     &confusion_matrix},
    {"mean_squared_error", "For numbers.", kNameKeys, &of_numbers<&metrics::mean_squared_error>},
    {"root_mean_squared_error", "Its square root, for numbers.", kNameKeys,
     &of_numbers<&metrics::root_mean_squared_error>},
    {"mean_absolute_error", "For numbers.", kNameKeys, &of_numbers<&metrics::mean_absolute_error>},
    {"mean", "The mean of the last layer's output.", kNameKeys, &mean}};

}  // namespace

std::span<const ConfigRow<NamedMetric>> metric_table() { return kMetrics; }

}  // namespace systole::app
