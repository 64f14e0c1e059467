#include "systole/graph/initializers/variance_scaling.h"

#include <algorithm>
#include <cmath>

namespace systole::rules {
namespace {

struct Fans {
  double in;
  double out;
};

Fans fans_of(const Shape& shape) {
  const int rank = shape.rank();
  if (rank == 0) return {1, 1};
  if (rank == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double receptive_field = 1;
  for (int axis = 0; axis < rank - 2; ++axis) receptive_field *= static_cast<double>(shape[axis]);
  return {receptive_field * static_cast<double>(shape[rank - 2]),
          receptive_field * static_cast<double>(shape[rank - 1])};
}

double fan(const Shape& shape, std::string_view mode) {
  const Fans fans = fans_of(shape);
  if (mode == "fan_avg") return std::max(1.0, (fans.in + fans.out) / 2);
  return std::max(1.0, mode == "fan_in" ? fans.in : fans.out);
}

}  // namespace

Output scaled_values(const InitializerCall& call, double scale, std::string_view mode,
                     std::string_view distribution) {
  // The standard deviation of a standard normal variable within (-2, 2).
  constexpr double kTruncatedStddev = 0.87962566103423978;
  const double variance = scale / fan(call.shape, mode);
  const double stddev = std::sqrt(variance);
  if (distribution == "uniform") {
    const double limit = std::sqrt(3 * variance);
    return random_uniform(
        call.shape, {.minval = -limit, .maxval = limit, .dtype = call.dtype, .seed = call.seed});
  }
  if (distribution == "untruncated_normal") {
    return random_normal(call.shape, {.stddev = stddev, .dtype = call.dtype, .seed = call.seed});
  }
  return truncated_normal(
      call.shape, {.stddev = stddev / kTruncatedStddev, .dtype = call.dtype, .seed = call.seed});
}

void check_variance_scaling(const RuleValues& arguments) {
  constexpr std::string_view kModes[] = {"fan_in", "fan_out", "fan_avg"};
  constexpr std::string_view kDistributions[] = {"normal", "uniform", "truncated_normal",
                                                 "untruncated_normal"};
  const double scale = arguments.number("scale");
  const std::string& mode = arguments.text("mode");
  const std::string& distribution = arguments.text("distribution");
  if (scale <= 0) {
    throw invalid_argument("variance_scaling_initializer: scale, got {}, expected more than 0",
                           scale);
  }
  if (std::ranges::find(kModes, mode) == std::end(kModes)) {
    throw invalid_argument("Invalid `mode` argument: {}, expected fan_in, fan_out or fan_avg",
                           mode);
  }
  if (std::ranges::find(kDistributions, distribution) == std::end(kDistributions)) {
    throw invalid_argument(
        "Invalid `distribution` argument: {}, expected normal, uniform, truncated_normal or "
        "untruncated_normal",
        distribution);
  }
}

}  // namespace systole::rules
