#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"
#include "systole/train/candidate_sampling.h"

namespace systole {
namespace {

// Logits of each example's true classes, followed by those of the drawn classes.
struct SampledLogits {
  Output logits;  // [batch, num_true + num_sampled]
  Output labels;  // 1 / num_true for true classes, else 0
};

struct SampledInputs {
  Output weights;
  Output biases;
  Output labels;
  Output inputs;
};

SampledInputs checked_inputs(std::string_view op, const SampledLossOptions& options) {
  const Output inputs = resolve_as(op, options.inputs, DTypeClass::floating);
  const SampledInputs in = {resolve(op, options.weights, inputs.dtype()),
                            resolve(op, options.biases, inputs.dtype()),
                            resolve(op, options.labels), inputs};
  with_op(op, options.inputs.where(), [&] {
    if (options.num_true < 1) {
      throw invalid_argument("num_true, got {}, expected at least 1", options.num_true);
    }
    if (inputs.shape().rank() != 2) {
      throw invalid_argument("inputs, got {}, expected [batch, dim]", inputs.type());
    }
    const Shape classes_by_dim{options.num_classes, inputs.shape()[1]};
    if (!in.weights.shape().compatible_with(classes_by_dim)) {
      throw invalid_argument("weights, got {}, expected {}", in.weights.type(), classes_by_dim);
    }
    if (!in.biases.shape().compatible_with({options.num_classes})) {
      throw invalid_argument("biases, got {}, expected [{}]", in.biases.type(),
                             options.num_classes);
    }
    const Shape batch_by_true{inputs.shape()[0], options.num_true};
    if (!is_integer(in.labels.dtype()) || !in.labels.shape().compatible_with(batch_by_true)) {
      throw invalid_argument("labels, got {}, expected integers of {}", in.labels.type(),
                             batch_by_true);
    }
  });
  return in;
}

// Gives drawn classes that are true classes of their example a logit so low that it adds nothing to
// a sum, but has a finite logarithmic loss in the dtype.
Output without_hits(const Output& scores, const Output& labels, const Output& sampled) {
  const Output hit =
      reduce_any(equal(expand_dims(labels, 2), reshape(sampled, {1, 1, -1})), {.axis = 1});
  return where_v2(hit, scores.dtype() == DType::f16 ? -3e4 : -1e30, scores);
}

SampledLogits sampled_logits(std::string_view op, const SampledLossOptions& options,
                             bool remove_accidental_hits) {
  const SampledInputs in = checked_inputs(op, options);
  const Output labels = to_int64(in.labels);
  SampledCandidates drawn = options.sampled_values
                                ? *options.sampled_values
                                : log_uniform_candidate_sampler({.true_classes = labels,
                                                                 .num_sampled = options.num_sampled,
                                                                 .range_max = options.num_classes,
                                                                 .seed = options.seed});
  drawn.sampled_candidates = to_int64(drawn.sampled_candidates);
  const Output of_drawn = embedding_lookup(in.weights, drawn.sampled_candidates);
  const Output of_true = embedding_lookup(in.weights, labels);  // [batch, num_true, dim]
  Output drawn_scores = matmul(in.inputs, of_drawn, {.transpose_b = true}) +
                        embedding_lookup(in.biases, drawn.sampled_candidates);
  const Output true_scores = reduce_sum(expand_dims(in.inputs, 1) * of_true, {.axis = 2}) +
                             embedding_lookup(in.biases, labels);
  if (remove_accidental_hits) {
    drawn_scores = without_hits(drawn_scores, labels, drawn.sampled_candidates);
  }
  const DType dtype = in.inputs.dtype();
  const Output true_logits = true_scores - cast(log(drawn.true_expected_count), dtype);
  const Output drawn_logits = drawn_scores - cast(log(drawn.sampled_expected_count), dtype);
  const double share = 1.0 / static_cast<double>(options.num_true);
  return {concat({true_logits, drawn_logits}, 1),
          concat({ones_like(true_logits) * share, zeros_like(drawn_logits)}, 1)};
}

}  // namespace

Output nce_loss(const SampledLossOptions& options) {
  const CompositionScope scope(options.inputs, options.name, "nce_loss");
  const auto [logits, labels] =
      sampled_logits("nce_loss", options, options.remove_accidental_hits.value_or(false));
  return reduce_sum(sigmoid_cross_entropy_with_logits({.labels = labels, .logits = logits}),
                    {.axis = 1, .name = scope.result().name});
}

Output sampled_softmax_loss(const SampledLossOptions& options) {
  const CompositionScope scope(options.inputs, options.name, "sampled_softmax_loss");
  const auto [logits, labels] = sampled_logits("sampled_softmax_loss", options,
                                               options.remove_accidental_hits.value_or(true));
  return softmax_cross_entropy_with_logits(
      {.labels = labels, .logits = logits, .name = scope.result().name});
}

}  // namespace systole
