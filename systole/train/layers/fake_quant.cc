#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/quantization_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/train/hyperparameter.h"
#include "systole/train/layers/layer_scope.h"

namespace systole::layers {
namespace {

void follow_range(const Variable& moving, const Output& batch, double momentum) {
  const Output update = moving.assign_sub((moving.value() - stop_gradient(batch)) * (1 - momentum));
  Graph::current().root().add_to_collection(graph_keys::update_ops, Operation(update));
}

}  // namespace

Output fake_quant(const Input& inputs, const FakeQuantOptions& options) {
  constexpr std::string_view kLayer = "fake_quant";
  const LayerScope scope(inputs, options.name, kLayer, options.reuse);
  check_hyperparameter(kLayer, "momentum", options.momentum, HyperparameterRange::fraction,
                       inputs.where());
  const Output x = resolve_inputs(kLayer, inputs);
  const Variable least = weight(
      "min", {},
      {.initializer = constant_initializer(static_cast<float>(options.min)), .trainable = false});
  const Variable greatest = weight(
      "max", {},
      {.initializer = constant_initializer(static_cast<float>(options.max)), .trainable = false});
  std::vector<Output> range = {least.value(), greatest.value()};
  if (options.training.possible()) {
    const auto of_batch = [&] {
      return std::vector{minimum(reduce_min(x), 0), maximum(reduce_max(x), 0)};
    };
    const auto of_averages = [&] {
      return std::vector{identity(least.value()), identity(greatest.value())};
    };
    range = options.training.choose(of_batch, of_averages);
    follow_range(least, range[0], options.momentum);
    follow_range(greatest, range[1], options.momentum);
  }
  return quantization::fake_quant_with_min_max_vars(
      x, stop_gradient(range[0]), stop_gradient(range[1]), {.num_bits = options.num_bits});
}

Output fake_quant_weights(const Input& weights, int64_t num_bits) {
  const CompositionScope scope(weights, "", "fake_quant_weights");
  const Output w = resolve_inputs("fake_quant_weights", weights);
  std::vector<int64_t> axes;
  for (int axis = 0; axis + 1 < w.shape().rank(); ++axis) axes.push_back(axis);
  const Output largest = stop_gradient(reduce_max(abs(w), {.axis = axes}));
  return quantization::fake_quant_with_min_max_vars_per_channel(
      w, negative(largest), largest, {.num_bits = num_bits, .narrow_range = true});
}

}  // namespace systole::layers
