// Random tensors. (tensorflow/python/ops/random_ops.py)
//
// Numbers come from Philox counters: a function of the seeds, of how often the node has run in its
// session, and of the iteration of the loops around it; never of threads. With a graph seed
// (set_random_seed) or an op seed a session repeats the sequence of any other session; without
// both, every session draws a new one. Distinct nodes draw independent sequences. Shapes are known
// when the program is compiled. No gradient flows into the arguments that give shapes, none from
// values to seeds; random_normal and random_uniform are differentiable in mean, stddev and bounds.
#pragma once

#include <optional>
#include <string>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/shape_input.h"
#include "systole/graph/core/graph.h"

namespace systole {

struct RandomNormalOptions {
  Input mean = 0.0F;
  Input stddev = 1.0F;
  DType dtype = DType::f32;  // floating
  std::optional<int64_t> seed;
  std::string name = "random_normal";
};
// Normally distributed, by the Box-Muller transform, which is exact: its error is that of log,
// sqrt, sin and cos. f16 and bf16 are computed in f32. (tf.random_normal)
Output random_normal(const ShapeInput& shape, const RandomNormalOptions& options = {});

struct TruncatedNormalOptions {
  Input mean = 0.0F;
  Input stddev = 1.0F;
  DType dtype = DType::f32;  // floating
  std::optional<int64_t> seed;
  std::string name = "truncated_normal";
};
// Normally distributed within two standard deviations of the mean, by the inverse of the
// distribution function: the same work for every element. (tf.truncated_normal)
Output truncated_normal(const ShapeInput& shape, const TruncatedNormalOptions& options = {});

struct RandomUniformOptions {
  Input minval = 0;
  std::optional<Input> maxval;  // 1 for floating dtypes, required for integers
  DType dtype = DType::f32;     // floating or integer
  std::optional<int64_t> seed;
  std::string name = "random_uniform";
};
// Uniform in [minval, maxval). Floats have as many random bits as their mantissa has (23 in f32);
// the upper bound is never drawn, also where rounding would give it in TensorFlow. Integers are
// unbiased to within range / 2^64; an empty range is INVALID_ARGUMENT. (tf.random_uniform)
Output random_uniform(const ShapeInput& shape, const RandomUniformOptions& options = {});

struct MultinomialOptions {
  std::optional<int64_t> seed;
  DType output_dtype = DType::s64;  // or s32
  std::string name = {};
};
// Draws `num_samples` classes for each row of logits [batch, classes], unnormalised log
// probabilities: [batch, num_samples]. A class of logit -inf is never drawn. (tf.multinomial, by
// the Gumbel-max trick)
Output multinomial(const Input& logits, const Input& num_samples,
                   const MultinomialOptions& options = {});

struct RandomShuffleOptions {
  std::optional<int64_t> seed;
  std::string name = {};
};
// The rows of x (slices along its first axis) in a random order, all orders equally likely.
// (tf.random_shuffle)
Output random_shuffle(const Input& x, const RandomShuffleOptions& options = {});

}  // namespace systole
