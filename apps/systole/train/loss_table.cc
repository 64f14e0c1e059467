// The losses of train/losses, and the meaning of the last layer for each.
#include "apps/systole/train/model_tables.h"
#include "apps/systole/train/rule_keys.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/train/losses/losses.h"

namespace systole::app {
namespace {

using losses::Reduction;

constexpr ConfigKey kWeightKeys[] = {
    {"weights", "number", "1", "Factor of the loss."},
    {"reduction", "text", "sum_by_nonzero_weights",
     "How to reduce the losses of a batch: sum_by_nonzero_weights, mean, sum or "
     "sum_over_batch_size."}};

Reduction reduction_of(const ConfigSection& s) {
  constexpr std::pair<const char*, Reduction> kReductions[] = {
      {"sum_by_nonzero_weights", Reduction::sum_by_nonzero_weights},
      {"mean", Reduction::mean},
      {"sum", Reduction::sum},
      {"sum_over_batch_size", Reduction::sum_over_batch_size}};
  return s.choice<Reduction>("reduction", kReductions, Reduction::sum_by_nonzero_weights);
}

// Labels in the shape and dtype of the predictions: [batch] becomes [batch, 1].
Output fitted(const Output& labels, const Output& predictions) {
  Output result = labels;
  if (labels.type().shape.rank() + 1 == predictions.type().shape.rank()) {
    result = expand_dims(result, -1);
  }
  return cast(result, predictions.dtype());
}

// Converts class numbers to one-hot rows.
Output one_hot_labels(const Output& labels, const Output& logits) {
  if (labels.type().shape.rank() == logits.type().shape.rank()) return cast(labels, logits.dtype());
  return one_hot(labels, last_size(logits));
}

Output labels_for(const LossDef& def, const Output& labels, const Output& output) {
  switch (def.labels) {
    case LossLabels::one_hot:
      return one_hot_labels(labels, output);
    case LossLabels::class_numbers:
      return labels;
    default:
      return fitted(labels, output);
  }
}

Loss make_loss(const LossDef& def, const ConfigSection& s) {
  return {.head = *def.head,
          .build = [&def, values = rule_values(def.arguments, s),
                    weights = s.number("weights", 1, kNotNegative),
                    reduce = reduction_of(s)](const Output& labels, const Output& output) {
            return losses::weighted_loss(def, values, labels_for(def, labels, output), output,
                                         {.weights = weights, .reduction = reduce});
          }};
}

}  // namespace

std::span<const ConfigRow<Loss>> loss_table() {
  static const std::vector<ConfigRow<Loss>> kRows = [] {
    std::vector<ConfigRow<Loss>> rows;
    for (const LossDef* def : all_loss_defs()) {
      if (!def->head) continue;
      rows.push_back({kept(std::string(def->name)), kept(std::string(def->doc)),
                      rule_keys(def->arguments, kWeightKeys),
                      [def](const ConfigSection& s) { return make_loss(*def, s); }});
    }
    return rows;
  }();
  return kRows;
}

int64_t last_size(const Output& output) {
  const Shape& shape = output.type().shape;
  if (shape.rank() < 2) {
    throw invalid_argument("loss: the last layer, got {}, expected [batch, classes]",
                           output.type());
  }
  return shape[shape.rank() - 1];
}

HeadOutputs head_outputs(Head head, const Output& output) {
  HeadOutputs outputs{.head = head, .output = output};
  switch (head) {
    case Head::softmax:
      outputs.classes = argmax(output, {.axis = -1, .output_type = DType::s32});
      outputs.probabilities = softmax(output);
      break;
    case Head::sigmoid:
      outputs.classes = cast(output > 0, DType::s32);
      outputs.probabilities = sigmoid(output);
      break;
    case Head::probability:
      outputs.classes = cast(output > 0.5, DType::s32);
      outputs.probabilities = output;
      break;
    case Head::regression:
      break;
  }
  return outputs;
}

}  // namespace systole::app
