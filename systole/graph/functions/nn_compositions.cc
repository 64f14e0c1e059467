// Functions of nn_ops.h and nn_functions.h that are made of other ops.
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/functions/nn_functions.h"
#include "systole/graph/ops/nn/window_geometry.h"

namespace systole {
namespace {

// Logits x and what they are compared with, z.
struct Compared {
  DType dtype;
  Output x;
  Output z;
};

// Converts both to one floating type; `name` is what the errors call z.
Compared compared(std::string_view op, const Input& logits, std::string_view name,
                  const Input& targets) {
  const DType dtype = common_dtype({logits, targets});
  const Compared found{dtype, resolve(op, logits, dtype), resolve(op, targets, dtype)};
  with_op(op, logits.where(), [&] {
    check_dtype("logits", dtype, DTypeClass::floating);
    if (found.z.shape().compatible_with(found.x.shape()) && found.z.dtype() == found.x.dtype())
      return;
    throw invalid_argument("logits and {}, got {} and {}, expected equal types", name,
                           found.x.type(), found.z.type());
  });
  return found;
}

}  // namespace

// max(x, 0) - x * z + log(1 + exp(-|x|)): the form that never overflows. The choices are by x >= 0,
// so that the gradient at 0 is sigmoid(0) - z.
Output sigmoid_cross_entropy_with_logits(const CrossEntropyOptions& options) {
  constexpr std::string_view kOp = "sigmoid_cross_entropy_with_logits";
  const CompositionScope scope(options.logits, options.name, "logistic_loss");
  const auto [dtype, x, z] = compared(kOp, options.logits, "labels", options.labels);
  const Output positive = greater_equal(x, 0);
  const Output relu_x = where_v2(positive, x, 0);
  const Output minus_abs_x = where_v2(positive, negative(x), x);
  return add(relu_x - x * z, log1p(exp(minus_abs_x)), scope.result());
}

Moments moments(const Input& x, const Axes& axes, const MomentsOptions& options) {
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

Output batch_normalization(const Input& x, const Input& mean, const Input& variance,
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

FusedBatchNorm fused_batch_norm(const Input& x, const Input& scale, const Input& offset,
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

Output l2_normalize(const Input& x, const Axes& axes, const L2NormalizeOptions& options) {
  const CompositionScope scope(x, options.name, "l2_normalize");
  const Output value = resolve_as("l2_normalize", x, DTypeClass::floating);
  const Output total = reduce_sum(square(value), {.axis = axes, .keepdims = true});
  return multiply(value, rsqrt(maximum(total, options.epsilon)), scope.result());
}

// 16-bit numbers are too coarse to draw: the draw and the comparison are in f32.
Output dropout(const Input& x, const Input& keep_prob, const DropoutOptions& options) {
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
  const Output kept = greater_equal(draw, 1 - keep);  // as TensorFlow: the same seed keeps the same
  return where_v2(kept, value / cast(keep, value.dtype()), 0, scope.result());
}

Output xw_plus_b(const Input& x, const Input& weights, const Input& biases,
                 const NameOptions& options) {
  const CompositionScope scope(x, options.name, "xw_plus_b");
  return bias_add(matmul(x, weights), biases, {.name = scope.result().name});
}

Output embedding_lookup(const Input& params, const Input& ids, const NameOptions& options) {
  return gather(params, ids, {.name = options.name.empty() ? "embedding_lookup" : options.name});
}

// -- nn_functions.h

Output log_sigmoid(const Input& x, const NameOptions& options) {
  const CompositionScope scope(x, options.name, "LogSigmoid");
  const Output value = resolve_as("LogSigmoid", x, DTypeClass::floating);
  return negative(softplus(-value), scope.result());
}

Output swish(const Input& features, const NameOptions& options) {
  const CompositionScope scope(features, options.name, "swish");
  const Output x = resolve_as("swish", features, DTypeClass::floating);
  return multiply(x, sigmoid(x), scope.result());
}

Output crelu(const Input& features, const NameOptions& options) {
  const CompositionScope scope(features, options.name, "CRelu");
  const Output x = resolve_as("CRelu", features, DTypeClass::floating);
  return concat({relu(x), relu(-x)}, -1, scope.result());
}

Output relu_layer(const Input& x, const Input& weights, const Input& biases,
                  const NameOptions& options) {
  const CompositionScope scope(x, options.name, "relu_layer");
  return relu(xw_plus_b(x, weights, biases), scope.result());
}

// (1 - z) * x + (1 + (q - 1) * z) * log(1 + exp(-x)), whose last factor never overflows.
Output weighted_cross_entropy_with_logits(const WeightedCrossEntropyOptions& options) {
  constexpr std::string_view kOp = "weighted_cross_entropy_with_logits";
  const CompositionScope scope(options.logits, options.name, "logistic_loss");
  const auto [dtype, x, z] = compared(kOp, options.logits, "targets", options.targets);
  const Output weight = 1 + (resolve(kOp, options.pos_weight, dtype) - 1) * z;
  return add((1 - z) * x, weight * softplus(-x), scope.result());
}

Output local_response_normalization(const Input& input,
                                    const LocalResponseNormalizationOptions& options) {
  constexpr std::string_view kOp = "LRN";
  const CompositionScope scope(input, options.name, kOp);
  const Output x = resolve_as(kOp, input, DTypeClass::floating);
  const int rank = x.shape().rank();
  with_op(kOp, input.where(), [&] {
    if (rank < 1 || x.shape()[rank - 1] == kUnknown) {
      throw invalid_argument("input, got {}, expected channels of a known number", x.type());
    }
    if (options.depth_radius >= 0) return;
    throw invalid_argument("depth_radius, got {}, expected 0 or more", options.depth_radius);
  });
  const int64_t channels = x.shape()[rank - 1];
  const int64_t radius = std::min(options.depth_radius, channels - 1);
  const auto axes = static_cast<size_t>(rank);
  std::vector<std::pair<int64_t, int64_t>> paddings(axes, {0, 0});
  paddings.back() = {radius, radius};
  const Output squares = pad(square(x), paddings);
  std::vector<int64_t> begin(axes, 0);
  std::vector<int64_t> size(axes, -1);
  size.back() = channels;
  std::vector<Output> neighbours;
  for (; begin.back() <= 2 * radius; ++begin.back()) {
    neighbours.push_back(slice(squares, begin, size));
  }
  const Output scale = options.bias + options.alpha * add_n(neighbours);
  return realdiv(x, options.beta == 0.5 ? sqrt(scale) : pow(scale, options.beta), scope.result());
}

Output in_top_k(const Input& predictions, const Input& targets, int64_t k,
                const NameOptions& options) {
  constexpr std::string_view kOp = "in_top_k";
  const CompositionScope scope(predictions, options.name, kOp);
  const Output scores = resolve_as(kOp, predictions, DTypeClass::floating);
  const Output classes = resolve(kOp, targets);
  with_op(kOp, predictions.where(), [&] {
    if (scores.shape().rank() != 2) {
      throw invalid_argument("predictions, got {}, expected [batch, classes]", scores.type());
    }
    if (is_integer(classes.dtype()) && classes.shape().rank() == 1) return;
    throw invalid_argument("targets, got {}, expected integers of [batch]", classes.type());
  });
  const Output numbers = cast(range(unstack(shape(scores), {.num = 2})[1]), classes.dtype());
  const Output is_target = equal(numbers, expand_dims(classes, 1));
  const Output target = reduce_sum(where_v2(is_target, scores, 0), {.axis = 1, .keepdims = true});
  const Output better = reduce_sum(to_int64(greater(scores, target)), {.axis = 1});
  // No score of a class that there is not, and none that cannot be compared, is among the highest.
  const Output known =
      logical_and(reduce_all(is_finite(scores), {.axis = 1}), reduce_any(is_target, {.axis = 1}));
  return logical_and(known, less(better, k), scope.result());
}

Output zero_fraction(const Input& value, const NameOptions& options) {
  const CompositionScope scope(value, options.name, "zero_fraction");
  const Output x = resolve("zero_fraction", value);
  return reduce_mean(to_float(equal(x, 0)), {.name = scope.result().name});
}

}  // namespace systole
