#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/axes.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"
#include "systole/train/hyperparameter.h"
#include "systole/train/layers/layer_scope.h"
#include "systole/train/replicas.h"

namespace systole::layers {
namespace {

struct NormalizationVariables {
  Variable gamma;
  Variable beta;
  Variable moving_mean;
  Variable moving_variance;
};

// Creates them in TensorFlow's order.
NormalizationVariables make_variables(int64_t channels, DType dtype,
                                      const BatchNormalizationOptions& options) {
  NormalizationVariables v;
  const Shape shape = {channels};
  if (options.scale) {
    v.gamma = weight("gamma", shape,
                     {.dtype = dtype,
                      .initializer = options.gamma_initializer,
                      .regularizer = options.gamma_regularizer,
                      .trainable = options.trainable});
  }
  if (options.center) {
    v.beta = weight("beta", shape,
                    {.dtype = dtype,
                     .initializer = options.beta_initializer,
                     .regularizer = options.beta_regularizer,
                     .trainable = options.trainable});
  }
  v.moving_mean =
      weight("moving_mean", shape,
             {.dtype = dtype, .initializer = options.moving_mean_initializer, .trainable = false});
  v.moving_variance = weight(
      "moving_variance", shape,
      {.dtype = dtype, .initializer = options.moving_variance_initializer, .trainable = false});
  return v;
}

// Mean and population variance over all axes but the channels', in f32 for 16-bit inputs.
Moments statistics(const Output& x, const Axes& axes, bool cross_replica) {
  if (!cross_replica) return moments(x, axes);
  const Output mean = replica_mean(reduce_mean(x, {.axis = axes}));
  const Output mean_of_squares = replica_mean(reduce_mean(square(x), {.axis = axes}));
  return {mean, maximum(mean_of_squares - square(mean), 0)};
}

// moving -= (moving - batch) * (1 - momentum). A run that does not train passes the average itself
// as `batch`, so that nothing changes. A StepLoop averages the results of replicas.
void add_update(const Variable& moving, const Output& batch, double momentum) {
  const Output seen = stop_gradient(batch);
  const Output update = moving.assign_sub((moving.value() - seen) * (1 - momentum));
  Graph::current().root().add_to_collection(graph_keys::update_ops, Operation(update));
}

// Returns the moments to normalise x by: those of the batch when training (and updates the moving
// averages from them), otherwise the averages.
Moments normalizing_moments(const Output& x, int axis, const NormalizationVariables& v,
                            const BatchNormalizationOptions& options) {
  const int rank = x.shape().rank();
  const Output mean = v.moving_mean.value();
  const Output variance = v.moving_variance.value();
  if (!options.training.possible()) return {mean, variance};
  const auto of_batch = [&] {
    const Moments batch = statistics(x, other_axes({axis}, rank), options.cross_replica);
    // TensorFlow's fused kernel for images averages the sample variance.
    const Output count = cast(size(x), x.dtype()) / static_cast<double>(v.moving_mean.shape()[0]);
    const Output sample = batch.variance * (count / maximum(count - 1, 1));
    return std::vector{batch.mean, batch.variance, rank == 4 ? sample : batch.variance};
  };
  // Sums over replicas cannot be in a branch: every replica must take part.
  std::vector<Output> of_all;
  if (options.cross_replica) of_all = of_batch();
  const auto of_training = [&] {
    if (of_all.empty()) return of_batch();
    return std::vector{identity(of_all[0]), identity(of_all[1]), identity(of_all[2])};
  };
  const auto of_averages = [&] {
    return std::vector{identity(mean), identity(variance), identity(variance)};
  };
  const std::vector<Output> chosen = options.training.choose(of_training, of_averages);
  add_update(v.moving_mean, chosen[0], options.momentum);
  add_update(v.moving_variance, chosen[2], options.momentum);
  return {chosen[0], chosen[1]};
}

}  // namespace

Output batch_normalization(const Input& inputs, const BatchNormalizationOptions& options) {
  constexpr std::string_view kLayer = "batch_normalization";
  const LayerScope scope(inputs, options.name, kLayer, options.reuse);
  check_hyperparameter(kLayer, "momentum", options.momentum, HyperparameterRange::fraction,
                       inputs.where());
  check_hyperparameter(kLayer, "epsilon", options.epsilon, HyperparameterRange::not_negative,
                       inputs.where());
  const Output given = resolve_inputs(kLayer, inputs);
  const int rank = given.shape().rank();
  const int axis = with_op(kLayer, inputs.where(),
                           [&] { return static_cast<int>(normalize_axis(options.axis, rank)); });
  const Output x = cast(given, accumulation_dtype(given.dtype()));
  const int64_t channels = known_size(kLayer, x, axis);
  const NormalizationVariables v = make_variables(channels, x.dtype(), options);

  const auto [mean, variance] = normalizing_moments(x, axis, v, options);
  std::vector<int64_t> along(static_cast<size_t>(rank), 1);
  along[axis] = channels;
  const auto shaped = [&](const Output& vector) {
    return axis == rank - 1 ? vector : reshape(vector, along);
  };
  Output factor = rsqrt(variance + options.epsilon);
  if (v.gamma.valid()) factor = factor * v.gamma;
  // Subtract the mean before scaling: a mean much larger than the deviation loses no precision.
  Output y = (x - shaped(mean)) * shaped(factor);
  if (v.beta.valid()) y = y + shaped(v.beta.value());
  return cast(y, given.dtype());
}

}  // namespace systole::layers
