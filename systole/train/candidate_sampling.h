// Losses over a sample of the classes, for models with very many.
// (tensorflow/python/ops/nn_impl.py, candidate_sampling_ops.py)
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "systole/graph/core/graph.h"

namespace systole {

// Classes drawn for a batch, and the expected number of times that each is drawn.
struct SampledCandidates {
  Output sampled_candidates;      // s64 [num_sampled]
  Output true_expected_count;     // f32, the true classes' shape
  Output sampled_expected_count;  // f32 [num_sampled]
};

struct CandidateSamplerOptions {
  Input true_classes;  // integers [batch, num_true]
  int64_t num_sampled = 0;
  bool unique = true;  // sample without replacement
  int64_t range_max = 0;
  std::optional<int64_t> seed = std::nullopt;
  std::string name = {};
};
// Draw classes from [0, range_max) for every batch. The uniform sampler gives all classes the same
// probability. The log-uniform sampler gives class c the probability
// (log(c + 2) - log(c + 1)) / log(range_max + 1), for classes sorted by descending frequency, as
// words follow Zipf's law. `unique` samples without replacement; the distribution is that of
// TensorFlow's rejection of duplicates. The expected counts use the mean number of tries of that
// rejection, where TensorFlow uses the actual number. Errors: INVALID_ARGUMENT for numbers below 1,
// and for more unique classes than range_max.
// (tf.nn.uniform_candidate_sampler, tf.nn.log_uniform_candidate_sampler)
SampledCandidates uniform_candidate_sampler(const CandidateSamplerOptions& options);
SampledCandidates log_uniform_candidate_sampler(const CandidateSamplerOptions& options);

struct SampledLossOptions {
  Input weights;  // [num_classes, dim]
  Input biases;   // [num_classes]
  Input labels;   // integers [batch, num_true]
  Input inputs;   // [batch, dim]
  int64_t num_sampled = 0;
  int64_t num_classes = 0;
  int64_t num_true = 1;
  // Drawn by log_uniform_candidate_sampler when absent.
  std::optional<SampledCandidates> sampled_values = std::nullopt;
  // Ignore drawn classes that are true classes of the example. TensorFlow's defaults: false for
  // nce_loss, true for sampled_softmax_loss.
  std::optional<bool> remove_accidental_hits = std::nullopt;
  std::optional<int64_t> seed = std::nullopt;
  std::string name = {};
};
// Noise-contrastive estimation: the logistic loss of telling true classes from drawn ones,
// [batch]. Source: Gutmann and Hyvarinen, AISTATS 2010. (tf.nn.nce_loss)
Output nce_loss(const SampledLossOptions& options);
// The softmax cross entropy over the true classes and the drawn ones, [batch]. For training only:
// evaluate over all classes. Source: Jean et al., arXiv 1412.2007.
// (tf.nn.sampled_softmax_loss)
Output sampled_softmax_loss(const SampledLossOptions& options);

}  // namespace systole
