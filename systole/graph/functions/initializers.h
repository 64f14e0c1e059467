// First values of variables. (tf.initializers, tensorflow/python/ops/init_ops.py)
#pragma once

#include <functional>
#include <optional>

#include "systole/graph/core/graph.h"

namespace systole {

// Adds the ops that make the first value of a variable of a shape, which is static, and a dtype.
using Initializer = std::function<Output(const Shape& shape, DType dtype)>;

Initializer zeros_initializer();
Initializer ones_initializer();
// One value for all elements, or a tensor with as many elements as the variable, taken in row-major
// order.
Initializer constant_initializer(Tensor value);

struct NormalInitializerOptions {
  double mean = 0;
  double stddev = 1;
  std::optional<int64_t> seed;
};
Initializer random_normal_initializer(const NormalInitializerOptions& options = {});
Initializer truncated_normal_initializer(const NormalInitializerOptions& options = {});

struct UniformInitializerOptions {
  double minval = 0;
  double maxval = 1;
  std::optional<int64_t> seed;
};
Initializer random_uniform_initializer(const UniformInitializerOptions& options = {});

enum class FanMode : uint8_t { fan_in, fan_out, fan_avg };
enum class Distribution : uint8_t { truncated_normal, untruncated_normal, uniform };

struct VarianceScalingOptions {
  double scale = 1;
  FanMode mode = FanMode::fan_in;
  Distribution distribution = Distribution::truncated_normal;
  std::optional<int64_t> seed;
};
// Mean 0 and variance scale / n, with n the number of inputs of a unit, of its outputs, or their
// mean: of a matrix [in, out] its sizes, of a kernel [..., in, out] those times the sizes before
// them. Truncated normal values are drawn wider, so that the variance is right after the
// truncation.
Initializer variance_scaling_initializer(const VarianceScalingOptions& options = {});

// Source: Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
// networks", 2010.
Initializer glorot_uniform_initializer(std::optional<int64_t> seed = {});
Initializer glorot_normal_initializer(std::optional<int64_t> seed = {});
// Source: He et al., "Delving deep into rectifiers", 2015.
Initializer he_uniform_initializer(std::optional<int64_t> seed = {});
Initializer he_normal_initializer(std::optional<int64_t> seed = {});
// Source: LeCun et al., "Efficient backprop", 1998.
Initializer lecun_uniform_initializer(std::optional<int64_t> seed = {});
Initializer lecun_normal_initializer(std::optional<int64_t> seed = {});

}  // namespace systole
