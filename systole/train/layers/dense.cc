#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/train/layers/layer_scope.h"

namespace systole::layers {

Output dense(const Input& inputs, const DenseOptions& options) {
  const LayerScope scope(inputs, options.name, "dense", options.reuse);
  const Output x = resolve_inputs("dense", inputs);
  check_positive("dense", "units", options.units);
  const int rank = x.shape().rank();
  check_positive("dense", "rank of inputs", rank);
  const int64_t depth = known_size("dense", x, rank - 1);
  const Variable kernel = weight("kernel", {depth, options.units},
                                 {.dtype = x.dtype(),
                                  .initializer = options.kernel_initializer,
                                  .regularizer = options.kernel_regularizer,
                                  .trainable = options.trainable});
  const Output y = rank == 2 ? matmul(x, kernel) : tensordot(x, kernel, {{rank - 1}, {0}});
  return add_bias_and_activate(y, options.units, options);
}

}  // namespace systole::layers
