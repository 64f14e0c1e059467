// Functions of nn_ops.h that are made of other ops.
#include "systole/graph/array_ops.h"
#include "systole/graph/broadcast.h"
#include "systole/graph/dtype_class.h"
#include "systole/graph/math_ops.h"
#include "systole/graph/nn_ops.h"
#include "systole/graph/node_builder.h"
#include "systole/graph/random_ops.h"
#include "systole/graph/where_scope.h"
#include "systole/graph/window_geometry.h"

namespace systole {

// max(x, 0) - x * z + log(1 + exp(-|x|)): the form that never overflows. The choices are by x >= 0, so that the gradient
// at 0 is sigmoid(0) - z.
Output sigmoid_cross_entropy_with_logits(const CrossEntropyOptions& options) {
  const WhereScope line(options.logits.where());
  const NameScope scope(options.name.empty() ? "logistic_loss" : options.name);
  const Output x = resolve("sigmoid_cross_entropy_with_logits", options.logits);
  const Output z = resolve("sigmoid_cross_entropy_with_logits", options.labels, x.dtype());
  if (!z.shape().compatible_with(x.shape()) || z.dtype() != x.dtype()) {
    throw invalid_argument(
        "sigmoid_cross_entropy_with_logits: logits and labels, got {} and {}, expected the same, at {}", x.type(),
        z.type(), options.logits.where().to_string());
  }
  const Output zero = zeros_like(x);
  const Output positive = greater_equal(x, zero);
  const Output relu_x = where(positive, x, zero);
  const Output minus_abs_x = where(positive, negative(x), x);
  return add(subtract(relu_x, multiply(x, z)), log1p(exp(minus_abs_x)));
}

Moments moments(Input x, const Axes& axes, const MomentsOptions& options) {
  const WhereScope line(x.where());
  const NameScope scope(options.name);
  const Output value = resolve("moments", x);
  check_dtype("moments: x", value.dtype(), DTypeClass::floating);
  const Output wide = cast(value, accumulation_dtype(value.dtype()));
  const Output mean = reduce_mean(wide, {.axis = axes, .keepdims = true});
  // The mean is subtracted as a constant: its gradient's terms cancel in exact arithmetic.
  const Output deviation = squared_difference(wide, stop_gradient(mean));
  const Output variance = reduce_mean(deviation, {.axis = axes, .keepdims = options.keep_dims});
  const Output shaped_mean = options.keep_dims ? mean : reduce_mean(wide, {.axis = axes});
  return {cast(shaped_mean, value.dtype()), cast(variance, value.dtype())};
}

Output batch_normalization(Input x, Input mean, Input variance, const BatchNormalizationOptions& options) {
  const WhereScope line(x.where());
  const NameScope scope(options.name);
  const Output value = resolve("batch_normalization", x);
  const DType dtype = value.dtype();
  Output factor = rsqrt(add(variance.resolve(dtype), options.variance_epsilon));
  if (options.scale.valid()) factor = multiply(factor, options.scale);
  Output shift = multiply(mean.resolve(dtype), factor);
  shift = options.offset.valid() ? subtract(options.offset, shift) : negative(shift);
  return add(multiply(value, factor), shift);
}

FusedBatchNorm fused_batch_norm(Input x, Input scale, Input offset, const FusedBatchNormOptions& options) {
  const WhereScope line(x.where());
  const NameScope scope(options.name);
  const Output value = resolve("fused_batch_norm", x);
  const DataFormat format(options.data_format);
  if (value.shape().rank() != 4) {
    throw invalid_argument("fused_batch_norm: x, got {}, expected rank 4, at {}", value.type(), x.where().to_string());
  }
  const bool channels_last = format.channels == 3;
  const Output wide = cast(value, accumulation_dtype(value.dtype()));
  // [channels] -> broadcastable to x.
  const auto along_channels = [&](Output v) { return channels_last ? v : reshape(v, {-1, 1, 1}); };

  Output mean = options.mean;
  Output variance = options.variance;
  Output sample_variance = variance;
  if (options.is_training) {
    const std::vector<int64_t> axes = channels_last ? std::vector<int64_t>{0, 1, 2} : std::vector<int64_t>{0, 2, 3};
    const Moments batch = moments(wide, axes);
    mean = batch.mean;
    variance = batch.variance;
    const Output count = cast(divide(size(wide), size(mean)), wide.dtype());
    sample_variance = multiply(variance, divide(count, maximum(subtract(count, 1), 1)));
  } else if (!mean.valid() || !variance.valid()) {
    throw invalid_argument("fused_batch_norm: is_training = false, got no mean or variance, expected both, at {}",
                           x.where().to_string());
  }
  const Output y = batch_normalization(wide, along_channels(mean), along_channels(variance),
                                       {.offset = along_channels(offset.resolve(wide.dtype())),
                                        .scale = along_channels(scale.resolve(wide.dtype())),
                                        .variance_epsilon = options.epsilon});
  return {cast(y, value.dtype()), mean, sample_variance};
}

Output l2_normalize(Input x, const Axes& axes, const L2NormalizeOptions& options) {
  const WhereScope line(x.where());
  const NameScope scope(options.name);
  const Output value = resolve("l2_normalize", x);
  const Output total = reduce_sum(square(value), {.axis = axes, .keepdims = true});
  return multiply(value, rsqrt(maximum(total, options.epsilon)));
}

Output dropout(Input x, Input keep_prob, const DropoutOptions& options) {
  const WhereScope line(x.where());
  const NameScope scope(options.name);
  const Output value = resolve("dropout", x);
  check_dtype("dropout: x", value.dtype(), DTypeClass::floating);
  if (const auto literal = keep_prob.literal()) {
    if (!(*literal > 0 && *literal <= 1)) {
      throw invalid_argument("dropout: keep_prob, got {}, expected a number in (0, 1], at {}", *literal,
                             x.where().to_string());
    }
    if (*literal == 1) return value;
  }
  const Output keep = keep_prob.resolve(value.dtype());
  const Output noise_shape = options.noise_shape.empty()
                                 ? shape(value)
                                 : Output(constant(Tensor::of<int64_t>({static_cast<int64_t>(options.noise_shape.size())},
                                                                       options.noise_shape)));
  const Output draw = random_uniform(noise_shape, {.dtype = value.dtype(), .seed = options.seed});
  // keep + [0, 1) is 1 or more with probability keep.
  return multiply(divide(value, keep), floor(add(keep, draw)));
}

Output xw_plus_b(Input x, Input weights, Input biases, const NameOptions& options) {
  const WhereScope line(x.where());
  const NameScope scope(options.name.empty() ? "xw_plus_b" : options.name);
  return bias_add(matmul(x, weights), biases);
}

}  // namespace systole
