#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"
#include "systole/train/example_mask.h"
#include "systole/train/hyperparameter.h"
#include "systole/train/losses/loss_def.h"
#include "systole/train/losses/losses.h"

namespace systole::losses {
namespace {

void check_ranges(const LossDef& def, const RuleValues& values, SourceLocation where) {
  for (const RuleArgument& argument : def.arguments) {
    if (argument.range != HyperparameterRange::fraction) continue;
    check_hyperparameter(def.name, argument.name, values.number(argument.name), argument.range,
                         where);
  }
}

}  // namespace

LossPair resolve_pair(std::string_view loss, const Input& labels, const Input& predictions) {
  const Output p = cast(resolve(loss, predictions, DType::f32), DType::f32);
  const Output l = cast(resolve(loss, labels, DType::f32), DType::f32);
  if (!l.shape().compatible_with(p.shape())) {
    throw at_line(invalid_argument("{}: labels and predictions, got {} and {}, expected one shape",
                                   loss, l.type(), p.type()),
                  predictions.where());
  }
  return {l, p};
}

LossPair resolve_logits(std::string_view loss, const Input& labels, const Input& predictions) {
  const Output logits = resolve_as(loss, predictions, DTypeClass::floating);
  return {cast(resolve(loss, labels, logits.dtype()), logits.dtype()), logits};
}

Output weighted_loss(const LossDef& def, const RuleValues& arguments, const Input& labels,
                     const Input& predictions, const WeightedLossOptions& options) {
  const CompositionScope scope(predictions, options.scope, def.scope);
  check_ranges(def, arguments, predictions.where());
  const LossPair pair = def.convert != nullptr ? def.convert(def.name, labels, predictions)
                                               : resolve_pair(def.name, labels, predictions);
  if (def.weighted_value != nullptr) {
    Output weights = cast(resolve(def.name, options.weights, DType::f32), DType::f32);
    if (const std::optional<Output> real = example_mask()) {
      std::vector<int64_t> sizes(static_cast<size_t>(pair.predictions.shape().rank()), 1);
      sizes[0] = -1;
      weights = weights * reshape(*real, sizes);
    }
    const Output loss = identity(def.weighted_value(pair.labels, pair.predictions, weights));
    add_loss(loss, options.loss_collection);
    return loss;
  }
  return compute_weighted_loss(def.value(arguments, pair.labels, pair.predictions),
                               {.weights = options.weights,
                                .reduction = options.reduction,
                                .loss_collection = options.loss_collection});
}

Output keras_loss(const LossDef& def, const RuleValues& arguments, const Output& labels,
                  const Output& predictions) {
  if (def.keras_value != nullptr) return def.keras_value(arguments, labels, predictions);
  return rules::mean_last(def.value(arguments, labels, predictions));
}

}  // namespace systole::losses

namespace systole::rules {

Output smoothed_towards_half(const RuleValues& arguments, const Output& labels) {
  const auto s = static_cast<float>(arguments.number("label_smoothing"));
  return s == 0 ? labels : labels * (1 - s) + 0.5F * s;
}

Output smoothed_towards_classes(const RuleValues& arguments, const Output& labels) {
  const auto s = static_cast<float>(arguments.number("label_smoothing"));
  if (s == 0) return labels;
  const int64_t classes = labels.shape()[-1];
  if (classes < 1) {
    throw invalid_argument("label_smoothing, got targets {}, expected a known number of classes",
                           labels.type());
  }
  return labels * (1 - s) + s / static_cast<float>(classes);
}

Output class_numbers(const Output& labels, const Output& predictions) {
  const bool column = labels.shape().rank() == predictions.shape().rank();
  return cast(column ? squeeze(labels, {.axis = {-1}}) : labels, DType::s32);
}

Output binary_entropies(const Output& labels, const Output& predictions, bool from_logits) {
  Output z = predictions;
  if (!from_logits) {
    const Output clipped = clip_probability(predictions);
    z = log(clipped / (1.0F - clipped));
  }
  return relu(z) - z * labels + log1p(exp(negative(abs(z))));
}

}  // namespace systole::rules
