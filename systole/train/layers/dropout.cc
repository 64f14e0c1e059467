#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"
#include "systole/train/layers/layer_scope.h"

namespace systole::layers {

Output dropout(const Input& inputs, const DropoutOptions& options) {
  const CompositionScope scope(inputs, options.name, "dropout");
  const Output x = resolve_inputs("dropout", inputs);
  if (!(options.rate >= 0 && options.rate < 1)) {
    throw at_line(
        invalid_argument("dropout: rate, got {}, expected a number in [0, 1)", options.rate),
        inputs.where());
  }
  const auto dropped = [&] {
    return std::vector{systole::dropout(
        x, 1 - options.rate, {.noise_shape = options.noise_shape, .seed = options.seed})};
  };
  return options.training.choose(dropped, [&] { return std::vector{identity(x)}; })[0];
}

}  // namespace systole::layers
