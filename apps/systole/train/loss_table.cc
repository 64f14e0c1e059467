// The losses of losses.h, and the meaning of the last layer for each.
#include "apps/systole/train/model_tables.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/train/losses.h"

namespace systole::app {
namespace {

using losses::Reduction;

constexpr ConfigKey kWeights = {"weights", "number", "1", "Factor of the loss."};
constexpr ConfigKey kReduction = {"reduction", "text", "sum_by_nonzero_weights",
                                  "How to reduce the losses of a batch: sum_by_nonzero_weights, "
                                  "mean, sum or sum_over_batch_size."};
constexpr ConfigKey kSmoothing = {"label_smoothing", "number", "0",
                                  "Fraction of each label that is spread over all classes."};
constexpr ConfigKey kPlainKeys[] = {kWeights, kReduction};
constexpr ConfigKey kSmoothingKeys[] = {kSmoothing, kWeights, kReduction};
constexpr ConfigKey kHuberKeys[] = {
    {"delta", "number", "1", "Error above which the loss is linear."}, kWeights, kReduction};
constexpr ConfigKey kLogKeys[] = {
    {"epsilon", "number", "1e-7", "Added to the argument of the logarithm."}, kWeights, kReduction};
constexpr ConfigKey kCosineDistanceKeys[] = {
    {"axis", "integer", "required", "Axis of the vectors."}, kWeights, kReduction};

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

// The inputs of every loss: labels in the shape of the output, the output, common arguments.
struct LossInputs {
  Output labels;
  Output output;
  double weights = 1;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
};

template <class F>
Loss fitted_loss(const ConfigSection& s, Head head, F build) {
  return {.head = head,
          .build = [build, weights = s.number("weights", 1, kNotNegative),
                    reduce = reduction_of(s)](const Output& labels, const Output& output) {
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
                     [smoothing = s.number("label_smoothing", 0, kFraction)](const LossInputs& in) {
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
                     [epsilon = s.number("epsilon", 1e-7, kNotNegative)](const LossInputs& in) {
                       return losses::log_loss({.labels = in.labels,
                                                .predictions = in.output,
                                                .weights = in.weights,
                                                .epsilon = epsilon,
                                                .reduction = in.reduction});
                     });
}

Loss huber_loss(const ConfigSection& s) {
  return fitted_loss(s, Head::regression,
                     [delta = s.number("delta", 1, kPositive)](const LossInputs& in) {
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
          .build = [smoothing = s.number("label_smoothing", 0, kFraction),
                    weights = s.number("weights", 1, kNotNegative),
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
          .build = [weights = s.number("weights", 1, kNotNegative), reduce = reduction_of(s)](
                       const Output& labels, const Output& logits) {
            return losses::sparse_softmax_cross_entropy(
                {.labels = labels, .logits = logits, .weights = weights, .reduction = reduce});
          }};
}

const ConfigRow<Loss> kLosses[] = {
    {"softmax_cross_entropy", "One of several classes; labels are class numbers or one-hot rows.",
     kSmoothingKeys, &softmax_cross_entropy},
    {"sparse_softmax_cross_entropy", "One of several classes; labels are class numbers.",
     kPlainKeys, &sparse_softmax_cross_entropy},
    {"sigmoid_cross_entropy", "Independent classes; labels are 0 or 1.", kSmoothingKeys,
     &sigmoid_cross_entropy},
    {"hinge_loss", "Independent classes, with a margin; labels are 0 or 1.", kPlainKeys,
     &hinge_loss},
    {"log_loss", "For probabilities: the last layer ends with a sigmoid.", kLogKeys, &log_loss},
    {"mean_squared_error", "For numbers.", kPlainKeys, &number_loss<&losses::mean_squared_error>},
    {"absolute_difference", "For numbers.", kPlainKeys, &number_loss<&losses::absolute_difference>},
    {"huber_loss", "For numbers: quadratic for small errors, linear for large ones.", kHuberKeys,
     &huber_loss},
    {"cosine_distance", "For vectors of length 1.", kCosineDistanceKeys, &cosine_distance}};

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
