// Functions of nn_ops.h that are made of other ops.
#include "systole/graph/array_ops.h"
#include "systole/graph/composition.h"
#include "systole/graph/math_ops.h"
#include "systole/graph/nn_ops.h"
#include "systole/graph/op_error.h"
#include "systole/graph/random_ops.h"
#include "systole/graph/window_geometry.h"

namespace systole {

// max(x, 0) - x * z + log(1 + exp(-|x|)): the form that never overflows. The choices are by x >= 0,
// so that the gradient at 0 is sigmoid(0) - z.
Output sigmoid_cross_entropy_with_logits(const CrossEntropyOptions& options) {
  constexpr std::string_view kOp = "sigmoid_cross_entropy_with_logits";
  const CompositionScope scope(options.logits, options.name, "logistic_loss");
  const DType dtype = common_dtype({options.logits, options.labels});
  const Output x = resolve(kOp, options.logits, dtype);
  const Output z = resolve(kOp, options.labels, dtype);
  with_op(kOp, options.logits.where(), [&] {
    check_dtype("logits", dtype, DTypeClass::floating);
    if (z.shape().compatible_with(x.shape()) && z.dtype() == x.dtype()) return;
    throw invalid_argument("logits and labels, got {} and {}, expected equal types", x.type(),
                           z.type());
  });
  const Output positive = greater_equal(x, 0);
  const Output relu_x = where_v2(positive, x, 0);
  const Output minus_abs_x = where_v2(positive, negative(x), x);
  return add(relu_x - x * z, log1p(exp(minus_abs_x)), scope.result());
}

Moments moments(Input x, const Axes& axes, const MomentsOptions& options) {
  const CompositionScope scope(x, options.name, "moments");
  const Output value = resolve_as("moments", x, DTypeClass::floating);
  const Output wide = cast(value, accumulation_dtype(value.dtype()));
  const Output mean = reduce_mean(wide, {.axis = axes, .keepdims = true});
  // The mean is subtracted as a constant: what it adds to the gradient is 0.
  const Output deviation = squared_difference(wide, stop_gradient(mean));
  const ReduceOptions reduced{.axis = axes, .keepdims = options.keep_dims};
  const Output shaped_mean = options.keep_dims ? mean : squeeze(mean, {.axis = axes});
  return {cast(shaped_mean, value.dtype()), cast(reduce_mean(deviation, reduced), value.dtype())};
}

Output batch_normalization(Input x, Input mean, Input variance,
                           const BatchNormalizationOptions& options) {
  constexpr std::string_view kOp = "batch_normalization";
  const CompositionScope scope(x, options.name, "batchnorm");
  const Output value = resolve_as(kOp, x, DTypeClass::floating);
  const DType dtype = value.dtype();
  Output factor = rsqrt(resolve(kOp, variance, dtype) + options.variance_epsilon);
  if (options.scale.valid()) factor = factor * options.scale;
  const Output shift = resolve(kOp, mean, dtype) * factor;
  return add(value * factor, options.offset.valid() ? options.offset - shift : -shift,
             scope.result());
}

namespace {

// The mean, the population's variance, and the variance to average.
struct BatchStatistics {
  Output mean;
  Output variance;
  Output sample_variance;
};

BatchStatistics batch_statistics(const Output& x, const DataFormat& format) {
  const Axes axes = other_axes({format.channels}, 4);
  const auto [mean, variance] = moments(x, axes);
  const Output count = cast(size(x), x.dtype()) / cast(size(mean), x.dtype());
  return {mean, variance, variance * (count / maximum(count - 1, 1))};
}

void check_fused_batch_norm(const Output& x, const FusedBatchNormOptions& options) {
  if (x.shape().rank() != 4) throw invalid_argument("x, got {}, expected rank 4", x.type());
  if (!options.is_training && (!options.mean.valid() || !options.variance.valid())) {
    throw invalid_argument(
        "is_training = false, got no mean or no variance, expected both of them");
  }
}

}  // namespace

FusedBatchNorm fused_batch_norm(Input x, Input scale, Input offset,
                                const FusedBatchNormOptions& options) {
  constexpr std::string_view kOp = "fused_batch_norm";
  const CompositionScope scope(x, options.name, "FusedBatchNorm");
  const Output value = resolve_as(kOp, x, DTypeClass::floating);
  const DataFormat format = with_op(kOp, x.where(), [&] {
    check_fused_batch_norm(value, options);
    return DataFormat(options.data_format);
  });
  const Output wide = cast(value, accumulation_dtype(value.dtype()));
  const BatchStatistics batch =
      options.is_training ? batch_statistics(wide, format)
                          : BatchStatistics{options.mean, options.variance, options.variance};
  // [channels] -> broadcastable to x.
  const auto along_channels = [&](const Input& v) {
    const Output vector = resolve(kOp, v, wide.dtype());
    return format.channels == 3 ? vector : reshape(vector, {-1, 1, 1});
  };
  const Output factor = rsqrt(batch.variance + options.epsilon) * resolve(kOp, scale, wide.dtype());
  // Centred before it is scaled: a mean that is large beside the deviation costs no precision.
  const Output y =
      (wide - along_channels(batch.mean)) * along_channels(factor) + along_channels(offset);
  const Output result = y.dtype() == value.dtype() ? identity(y, scope.result())
                                                   : cast(y, value.dtype(), scope.result());
  return {result, batch.mean, batch.sample_variance};
}

Output l2_normalize(Input x, const Axes& axes, const L2NormalizeOptions& options) {
  const CompositionScope scope(x, options.name, "l2_normalize");
  const Output value = resolve_as("l2_normalize", x, DTypeClass::floating);
  const Output total = reduce_sum(square(value), {.axis = axes, .keepdims = true});
  return multiply(value, rsqrt(maximum(total, options.epsilon)), scope.result());
}

// 16-bit numbers are too coarse to draw: the draw and the comparison are in f32.
Output dropout(Input x, Input keep_prob, const DropoutOptions& options) {
  const CompositionScope scope(x, options.name, "dropout");
  const Output value = resolve_as("dropout", x, DTypeClass::floating);
  if (const auto literal = keep_prob.literal()) {
    with_op("dropout", x.where(), [&] {
      if (*literal > 0 && *literal <= 1) return;
      throw invalid_argument("keep_prob, got {}, expected a number in (0, 1]", *literal);
    });
    if (*literal == 1) return value;
  }
  const DType wide = accumulation_dtype(value.dtype());
  const Output keep = cast(resolve("dropout", keep_prob, wide), wide);
  const Output draw = random_uniform(
      options.noise_shape.empty() ? ShapeInput(shape(value)) : ShapeInput(options.noise_shape),
      {.dtype = wide, .seed = options.seed});
  return where_v2(less(draw, keep), value / cast(keep, value.dtype()), 0, scope.result());
}

Output xw_plus_b(Input x, Input weights, Input biases, const NameOptions& options) {
  const CompositionScope scope(x, options.name, "xw_plus_b");
  return bias_add(matmul(x, weights), biases, {.name = scope.result().name});
}

Output embedding_lookup(Input params, Input ids, const NameOptions& options) {
  return gather(params, ids, {.name = options.name.empty() ? "embedding_lookup" : options.name});
}

}  // namespace systole
