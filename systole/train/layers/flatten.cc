#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/train/layers/layer_scope.h"

namespace systole::layers {

Output flatten(const Input& inputs, const FlattenOptions& options) {
  const CompositionScope scope(inputs, options.name, "flatten");
  const Output x = resolve("flatten", inputs);
  check_positive("flatten", "rank of inputs", x.shape().rank());
  int64_t rest = 1;
  for (int axis = 1; axis < x.shape().rank(); ++axis) rest *= known_size("flatten", x, axis);
  // -1 infers an unknown batch. A known one is given, since -1 is ambiguous for empty tensors.
  return reshape(x, {x.shape()[0], rest});
}

}  // namespace systole::layers
