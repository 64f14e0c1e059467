#include "systole/graph/functions/initializers.h"

#include <cmath>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/random_ops.h"

namespace systole {
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

double fan(const Shape& shape, FanMode mode) {
  const Fans fans = fans_of(shape);
  switch (mode) {
    case FanMode::fan_in:
      return std::max(1.0, fans.in);
    case FanMode::fan_out:
      return std::max(1.0, fans.out);
    default:
      return std::max(1.0, (fans.in + fans.out) / 2);
  }
}

Initializer scaled(double scale, FanMode mode, Distribution distribution,
                   std::optional<int64_t> seed) {
  return variance_scaling_initializer(
      {.scale = scale, .mode = mode, .distribution = distribution, .seed = seed});
}

}  // namespace

Initializer zeros_initializer() {
  return [](const Shape& shape, DType dtype) { return zeros(shape, dtype); };
}

Initializer ones_initializer() {
  return [](const Shape& shape, DType dtype) { return ones(shape, dtype); };
}

Initializer constant_initializer(Tensor value) {
  return [value = std::move(value)](const Shape& shape, DType dtype) {
    return constant(value, {.dtype = dtype, .shape = shape});
  };
}

Initializer random_normal_initializer(const NormalInitializerOptions& options) {
  return [options](const Shape& shape, DType dtype) {
    return random_normal(
        shape,
        {.mean = options.mean, .stddev = options.stddev, .dtype = dtype, .seed = options.seed});
  };
}

Initializer truncated_normal_initializer(const NormalInitializerOptions& options) {
  return [options](const Shape& shape, DType dtype) {
    return truncated_normal(
        shape,
        {.mean = options.mean, .stddev = options.stddev, .dtype = dtype, .seed = options.seed});
  };
}

Initializer random_uniform_initializer(const UniformInitializerOptions& options) {
  return [options](const Shape& shape, DType dtype) {
    return random_uniform(
        shape,
        {.minval = options.minval, .maxval = options.maxval, .dtype = dtype, .seed = options.seed});
  };
}

Initializer variance_scaling_initializer(const VarianceScalingOptions& options) {
  if (options.scale <= 0) {
    throw invalid_argument("variance_scaling_initializer: scale, got {}, expected more than 0",
                           options.scale);
  }
  return [options](const Shape& shape, DType dtype) {
    // The standard deviation of a standard normal variable within (-2, 2).
    constexpr double kTruncatedStddev = 0.87962566103423978;
    const double variance = options.scale / fan(shape, options.mode);
    const double stddev = std::sqrt(variance);
    switch (options.distribution) {
      case Distribution::truncated_normal:
        return truncated_normal_initializer(
            {.stddev = stddev / kTruncatedStddev, .seed = options.seed})(shape, dtype);
      case Distribution::untruncated_normal:
        return random_normal_initializer({.stddev = stddev, .seed = options.seed})(shape, dtype);
      default: {
        const double limit = std::sqrt(3 * variance);
        return random_uniform_initializer(
            {.minval = -limit, .maxval = limit, .seed = options.seed})(shape, dtype);
      }
    }
  };
}

Initializer glorot_uniform_initializer(std::optional<int64_t> seed) {
  return scaled(1, FanMode::fan_avg, Distribution::uniform, seed);
}
Initializer glorot_normal_initializer(std::optional<int64_t> seed) {
  return scaled(1, FanMode::fan_avg, Distribution::truncated_normal, seed);
}
Initializer he_uniform_initializer(std::optional<int64_t> seed) {
  return scaled(2, FanMode::fan_in, Distribution::uniform, seed);
}
Initializer he_normal_initializer(std::optional<int64_t> seed) {
  return scaled(2, FanMode::fan_in, Distribution::truncated_normal, seed);
}
Initializer lecun_uniform_initializer(std::optional<int64_t> seed) {
  return scaled(1, FanMode::fan_in, Distribution::uniform, seed);
}
Initializer lecun_normal_initializer(std::optional<int64_t> seed) {
  return scaled(1, FanMode::fan_in, Distribution::truncated_normal, seed);
}

}  // namespace systole
