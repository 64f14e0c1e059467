#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/axes.h"
#include "systole/graph/core/op_error.h"
#include "systole/train/layers/layer_scope.h"

namespace systole::layers {

Output layer_norm(const Input& inputs, const LayerNormOptions& options) {
  constexpr std::string_view kLayer = "layer_norm";
  const LayerScope scope(inputs, options.scope, "LayerNorm", options.reuse);
  const Output given = resolve_inputs(kLayer, inputs);
  const int rank = given.shape().rank();
  const auto axis_of = [&](int64_t axis) {
    return with_op(kLayer, inputs.where(),
                   [&] { return static_cast<int>(normalize_axis(axis, rank)); });
  };
  Dims of_parameters;
  for (int axis = axis_of(options.begin_params_axis); axis < rank; ++axis) {
    of_parameters.push_back(known_size(kLayer, given, axis));
  }
  const Output x = cast(given, accumulation_dtype(given.dtype()));
  const auto parameter = [&](std::string_view name, const Initializer& initializer) {
    return weight(name, Shape(of_parameters),
                  {.dtype = x.dtype(), .initializer = initializer, .trainable = options.trainable});
  };
  // In TensorFlow's order.
  const Variable beta = options.center ? parameter("beta", zeros_initializer()) : Variable();
  const Variable gamma = options.scale ? parameter("gamma", ones_initializer()) : Variable();
  std::vector<int64_t> normalized;
  for (int axis = axis_of(options.begin_norm_axis); axis < rank; ++axis) normalized.push_back(axis);
  const Moments of_example = moments(x, normalized, {.keep_dims = true});
  const double epsilon = given.dtype() == DType::f16 ? 1e-3 : 1e-12;
  Output y = (x - of_example.mean) * rsqrt(of_example.variance + epsilon);
  if (gamma.valid()) y = y * gamma;
  if (beta.valid()) y = y + beta.value();
  return options.activation_fn(cast(y, given.dtype()));
}

}  // namespace systole::layers
