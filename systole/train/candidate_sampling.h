// Losses over a sample of very many classes. (tensorflow/python/ops/nn_impl.py,
// candidate_sampling_ops.py)
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "systole/graph/api/graph.h"

namespace systole {

// Classes drawn for a batch, and how often each is expected to be among them.
struct SampledCandidates {
  Output sampled_candidates;      // s64 [num_sampled]
  Output true_expected_count;     // f32, the true classes' shape
  Output sampled_expected_count;  // f32 [num_sampled]
};

struct CandidateSamplerOptions {
  Input true_classes;  // integers [batch, num_true]
  int64_t num_sampled = 0;
  bool unique = true;  // no class twice
  int64_t range_max = 0;
  std::optional<int64_t> seed = std::nullopt;
  std::string name = {};
};
// Classes of [0, range_max) for every batch anew; all equally likely, or class c with probability
// (log(c + 2) - log(c + 1)) / log(range_max + 1), for classes sorted by falling frequency, as words
// follow Zipf's law. Unique classes are drawn one after another without putting any back, as
// TensorFlow's rejection of duplicates draws them, but in a fixed number of steps; the expected
// counts are for the mean number of tries that this takes, where TensorFlow counts the tries.
// Errors: INVALID_ARGUMENT for numbers below 1, and more unique classes than there are.
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
  // log_uniform_candidate_sampler's when absent.
  std::optional<SampledCandidates> sampled_values = std::nullopt;
  // A drawn class that is a true one of the example does not count. By default false for nce_loss
  // and true for sampled_softmax_loss, as in TensorFlow.
  std::optional<bool> remove_accidental_hits = std::nullopt;
  std::optional<int64_t> seed = std::nullopt;
  std::string name = {};
};
// Noise-contrastive estimation: the logistic loss of telling true classes from drawn ones, one
// number an example. Source: Gutmann and Hyvarinen, AISTATS 2010. (tf.nn.nce_loss)
Output nce_loss(const SampledLossOptions& options);
// The softmax cross entropy over the true classes and the drawn ones, one number an example. For
// training only: evaluation wants all classes. Source: Jean et al., arXiv 1412.2007.
// (tf.nn.sampled_softmax_loss)
Output sampled_softmax_loss(const SampledLossOptions& options);

}  // namespace systole
