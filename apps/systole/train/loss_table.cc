// The losses of losses.h, and what the last layer means with each.
#include "apps/systole/train/model_tables.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/train/losses.h"

namespace systole::app {
namespace {

using losses::Reduction;

constexpr ConfigKey kWeights = {"weights", "number", "1", "A factor."};
constexpr ConfigKey kReduction = {
    "reduction", "text", "sum_by_nonzero_weights",
    "How the losses of a batch become one: that, mean, sum, or sum_over_batch_size."};
constexpr ConfigKey kSmoothing = {"label_smoothing", "number", "0",
                                  "The part of the labels that goes to the other classes."};
constexpr ConfigKey kPlainKeys[] = {kWeights, kReduction};
constexpr ConfigKey kSmoothingKeys[] = {kSmoothing, kWeights, kReduction};
constexpr ConfigKey kHuberKeys[] = {
    {"delta", "number", "1", "Where the loss goes on as a line."}, kWeights, kReduction};
constexpr ConfigKey kLogKeys[] = {
    {"epsilon", "number", "1e-7", "Added before the logarithm."}, kWeights, kReduction};
constexpr ConfigKey kCosineDistanceKeys[] = {
    {"axis", "integer", "required", "That of the vectors."}, kWeights, kReduction};

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

// Class numbers become rows with a 1.
Output one_hot_labels(const Output& labels, const Output& logits) {
  if (labels.type().shape.rank() == logits.type().shape.rank()) return cast(labels, logits.dtype());
  return one_hot(labels, last_size(logits));
}

// What every loss is built of: labels that fit, the last layer, and the common arguments.
struct LossInputs {
  Output labels;
  Output output;
  double weights = 1;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
};

template <class F>
Loss fitted_loss(const ConfigSection& s, Head head, F build) {
  return {.head = head,
          .build = [build, weights = s.number("weights", 1), reduce = reduction_of(s)](
                       const Output& labels, const Output& output) {
            return build(LossInputs{.labels = fitted(labels, output),
                                    .output = output,
                                    .weights = weights,
                                    .reduction = reduce});
          }};
}

template <Output (*Build)(const losses::PredictionLossOptions&)>
Loss number_loss(const ConfigSection& s) {
  return fitted_loss(s, Head::regression, [](const LossInputs& in) {
    return Build({.labels = in.labels,
                  .predictions = in.output,
                  .weights = in.weights,
                  .reduction = in.reduction});
  });
}

Loss sigmoid_cross_entropy(const ConfigSection& s) {
  return fitted_loss(s, Head::sigmoid,
                     [smoothing = s.number("label_smoothing", 0)](const LossInputs& in) {
                       return losses::sigmoid_cross_entropy({.multi_class_labels = in.labels,
                                                             .logits = in.output,
                                                             .weights = in.weights,
                                                             .label_smoothing = smoothing,
                                                             .reduction = in.reduction});
                     });
}

Loss hinge_loss(const ConfigSection& s) {
  return fitted_loss(s, Head::sigmoid, [](const LossInputs& in) {
    return losses::hinge_loss({.labels = in.labels,
                               .logits = in.output,
                               .weights = in.weights,
                               .reduction = in.reduction});
  });
}

Loss log_loss(const ConfigSection& s) {
  return fitted_loss(s, Head::probability,
                     [epsilon = s.number("epsilon", 1e-7)](const LossInputs& in) {
                       return losses::log_loss({.labels = in.labels,
                                                .predictions = in.output,
                                                .weights = in.weights,
                                                .epsilon = epsilon,
                                                .reduction = in.reduction});
                     });
}

Loss huber_loss(const ConfigSection& s) {
  return fitted_loss(s, Head::regression, [delta = s.number("delta", 1)](const LossInputs& in) {
    return losses::huber_loss({.labels = in.labels,
                               .predictions = in.output,
                               .weights = in.weights,
                               .delta = delta,
                               .reduction = in.reduction});
  });
}

Loss cosine_distance(const ConfigSection& s) {
  return fitted_loss(s, Head::regression, [axis = s.integer("axis")](const LossInputs& in) {
    return losses::cosine_distance({.labels = in.labels,
                                    .predictions = in.output,
                                    .axis = axis,
                                    .weights = in.weights,
                                    .reduction = in.reduction});
  });
}

Loss softmax_cross_entropy(const ConfigSection& s) {
  return {.head = Head::softmax,
          .build = [smoothing = s.number("label_smoothing", 0), weights = s.number("weights", 1),
                    reduce = reduction_of(s)](const Output& labels, const Output& logits) {
            return losses::softmax_cross_entropy({.onehot_labels = one_hot_labels(labels, logits),
                                                  .logits = logits,
                                                  .weights = weights,
                                                  .label_smoothing = smoothing,
                                                  .reduction = reduce});
          }};
}

Loss sparse_softmax_cross_entropy(const ConfigSection& s) {
  return {.head = Head::softmax,
          .build = [weights = s.number("weights", 1), reduce = reduction_of(s)](
                       const Output& labels, const Output& logits) {
            return losses::sparse_softmax_cross_entropy(
                {.labels = labels, .logits = logits, .weights = weights, .reduction = reduce});
          }};
}

constexpr ConfigRow<Loss> kLosses[] = {
    {"softmax_cross_entropy", "One class of several; labels are class numbers or rows with a 1.",
     kSmoothingKeys, &softmax_cross_entropy},
    {"sparse_softmax_cross_entropy", "One class of several; labels are class numbers.", kPlainKeys,
     &sparse_softmax_cross_entropy},
    {"sigmoid_cross_entropy", "Each class by itself; labels are 0 or 1.", kSmoothingKeys,
     &sigmoid_cross_entropy},
    {"hinge_loss", "The same with a margin.", kPlainKeys, &hinge_loss},
    {"log_loss", "Probabilities; the last layer ends in a sigmoid.", kLogKeys, &log_loss},
    {"mean_squared_error", "Numbers.", kPlainKeys, &number_loss<&losses::mean_squared_error>},
    {"absolute_difference", "Numbers.", kPlainKeys, &number_loss<&losses::absolute_difference>},
    {"huber_loss", "Numbers: squared when small.", kHuberKeys, &huber_loss},
    {"cosine_distance", "Vectors of length 1.", kCosineDistanceKeys, &cosine_distance}};

}  // namespace

std::span<const ConfigRow<Loss>> loss_table() { return kLosses; }

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
