#include <cmath>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"
#include "systole/train/candidate_sampling.h"

namespace systole {
namespace {

// The distribution of classes. One formula serves doubles of the host and tensors of the graph, by
// overloads of log1p and the operators.
struct ClassDistribution {
  std::string_view op;
  double (*probability)(int64_t number, int64_t range_max);
  Output (*probabilities)(const Output& classes, int64_t range_max);
  // The class, before rounding down, at which the distribution function has the value `draw`.
  Output (*quantile)(const Output& draw, int64_t range_max);
};

// `number` is a double or an f32 tensor.
template <class T>
T uniform_probability(const T& number, int64_t range_max) {
  return 0 * number + 1.0 / static_cast<double>(range_max);
}

template <class T>
T log_uniform_probability(const T& number, int64_t range_max) {
  using std::log1p;
  return log1p(1.0 / (number + 1)) / std::log1p(static_cast<double>(range_max));
}

template <auto kOnHost, auto kInGraph>
constexpr ClassDistribution distribution_of(std::string_view op,
                                            Output (*quantile)(const Output&, int64_t)) {
  return {op,
          [](int64_t number, int64_t range_max) {
            return kOnHost(static_cast<double>(number), range_max);
          },
          [](const Output& classes, int64_t range_max) {
            return kInGraph(to_float(classes), range_max);
          },
          quantile};
}

constexpr ClassDistribution kUniform =
    distribution_of<&uniform_probability<double>, &uniform_probability<Output>>(
        "uniform_candidate_sampler", [](const Output& draw, int64_t range_max) {
          return draw * static_cast<double>(range_max);
        });

constexpr ClassDistribution kLogUniform =
    distribution_of<&log_uniform_probability<double>, &log_uniform_probability<Output>>(
        "log_uniform_candidate_sampler", [](const Output& draw, int64_t range_max) {
          return expm1(draw * std::log1p(static_cast<double>(range_max)));
        });

// Returns the expected number of draws with replacement until `count` classes were seen: the t with
// sum(1 - (1 - p)^t) = count. The sum is concave in t, so Newton's method from below never
// overshoots.
double expected_tries(const ClassDistribution& distribution, int64_t count, int64_t range_max) {
  auto tries = static_cast<double>(count);
  for (int step = 0; step < 30; ++step) {
    double seen = 0;
    double slope = 0;
    for (int64_t i = 0; i < range_max; ++i) {
      const double log_miss = std::log1p(-distribution.probability(i, range_max));
      const double missed = std::exp(tries * log_miss);
      seen += 1 - missed;
      slope -= missed * log_miss;
    }
    const double more = (static_cast<double>(count) - seen) / slope;
    tries += more;
    if (std::abs(more) < 1e-6 * tries) break;
  }
  return tries;
}

void check_sampler(const CandidateSamplerOptions& options, const Output& true_classes) {
  if (!is_integer(true_classes.dtype()) || true_classes.shape().rank() != 2) {
    throw invalid_argument("true_classes, got {}, expected integers of [batch, num_true]",
                           true_classes.type());
  }
  if (options.num_sampled < 1) {
    throw invalid_argument("num_sampled, got {}, expected at least 1", options.num_sampled);
  }
  if (options.range_max < 1) {
    throw invalid_argument("range_max, got {}, expected at least 1", options.range_max);
  }
  if (options.unique && options.num_sampled > options.range_max) {
    throw invalid_argument("num_sampled, got {}, expected at most range_max {} of unique classes",
                           options.num_sampled, options.range_max);
  }
}

// Sampling without replacement: the classes with the smallest of exponential variables whose rates
// are the probabilities. Source: Efraimidis and Spirakis, 2006.
Output unique_classes(const ClassDistribution& distribution,
                      const CandidateSamplerOptions& options) {
  const Output p = distribution.probabilities(range(options.range_max), options.range_max);
  // Avoids log(0).
  const Output draw = random_uniform({options.range_max}, {.minval = 1e-30, .seed = options.seed});
  return to_int64(top_k(log(draw) / p, {.k = options.num_sampled}).indices);
}

// Sampling with replacement, by inverting the distribution function.
Output independent_classes(const ClassDistribution& distribution,
                           const CandidateSamplerOptions& options) {
  const Output draw = random_uniform({options.num_sampled}, {.seed = options.seed});
  const Output drawn = distribution.quantile(draw, options.range_max);
  return minimum(to_int64(floor(drawn)), options.range_max - 1);
}

Output expected_counts(const ClassDistribution& distribution,
                       const CandidateSamplerOptions& options, double tries,
                       const Output& classes) {
  const Output p = distribution.probabilities(classes, options.range_max);
  if (!options.unique) return p * static_cast<double>(options.num_sampled);
  if (options.num_sampled == options.range_max) return ones_like(p);
  return -expm1(log1p(-p) * tries);
}

SampledCandidates sample(const ClassDistribution& distribution,
                         const CandidateSamplerOptions& options) {
  const CompositionScope scope(options.true_classes, options.name, distribution.op);
  const Output true_classes = resolve(distribution.op, options.true_classes);
  with_op(distribution.op, options.true_classes.where(),
          [&] { check_sampler(options, true_classes); });
  const bool counts_tries = options.unique && options.num_sampled < options.range_max;
  const double tries =
      counts_tries ? expected_tries(distribution, options.num_sampled, options.range_max) : 0;
  const Output sampled = stop_gradient(options.unique ? unique_classes(distribution, options)
                                                      : independent_classes(distribution, options));
  return {sampled, expected_counts(distribution, options, tries, true_classes),
          expected_counts(distribution, options, tries, sampled)};
}

}  // namespace

SampledCandidates uniform_candidate_sampler(const CandidateSamplerOptions& options) {
  return sample(kUniform, options);
}

SampledCandidates log_uniform_candidate_sampler(const CandidateSamplerOptions& options) {
  return sample(kLogUniform, options);
}

}  // namespace systole
