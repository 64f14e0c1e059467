// The metrics of train/metrics, applied to the classes, probabilities or numbers of a model.
#include "apps/systole/train/model_tables.h"
#include "apps/systole/train/rule_keys.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"

namespace systole::app {
namespace {

constexpr ConfigKey kNameKeys[] = {
    {"name", "text", "", "Name of the result; the metric's name by default."}};

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

// Truth values for probabilities.
Output truth(const Output& labels, const HeadOutputs& outputs) {
  const bool numbers = outputs.head == Head::softmax && labels.type().shape.rank() == 1;
  return cast(numbers ? one_hot(labels, last_size(outputs.output))
                      : number_labels(labels, outputs.probabilities),
              DType::pred);
}

metrics::LabelsAndPredictions inputs_for(const MetricDef& def, const Output& labels,
                                         const HeadOutputs& outputs) {
  switch (*def.inputs) {
    case MetricInputs::classes:
      return {class_labels(labels, outputs), outputs.classes};
    case MetricInputs::scores:
      return {class_labels(labels, outputs), outputs.output};
    case MetricInputs::probabilities:
      return {truth(labels, outputs), outputs.probabilities};
    case MetricInputs::numbers:
      return {number_labels(labels, outputs.output), outputs.output};
    default:
      return {labels, outputs.output};
  }
}

// The values of a file, with the number of the model's classes where it is missing.
RuleValues completed(const MetricDef& def, RuleValues values, const HeadOutputs& outputs) {
  for (const RuleArgument& argument : def.arguments) {
    if (argument.name != "num_classes" || values.has(argument.name)) continue;
    const int64_t size = outputs.head == Head::softmax ? last_size(outputs.output) : 2;
    values.set(argument.name, static_cast<double>(size));
  }
  return values;
}

NamedMetric make_metric(const MetricDef& def, const ConfigSection& s) {
  return {
      .name = s.text("name", s.name()),
      .needs_classes = def.inputs != MetricInputs::numbers && def.inputs != MetricInputs::output,
      .build = [&def, values = rule_values(def.arguments, s)](const Output& labels,
                                                              const HeadOutputs& outputs) {
        const auto [truths, answers] = inputs_for(def, labels, outputs);
        return metrics::streaming_metric(def, completed(def, values, outputs), truths, answers);
      }};
}

}  // namespace

std::span<const ConfigRow<NamedMetric>> metric_table() {
  static const std::vector<ConfigRow<NamedMetric>> kRows = [] {
    std::vector<ConfigRow<NamedMetric>> rows;
    for (const MetricDef* def : all_metric_defs()) {
      if (!def->inputs) continue;
      rows.push_back({kept(std::string(def->name)), kept(std::string(def->doc)),
                      rule_keys(def->arguments, kNameKeys),
                      [def](const ConfigSection& s) { return make_metric(*def, s); }});
    }
    return rows;
  }();
  return kRows;
}

}  // namespace systole::app
