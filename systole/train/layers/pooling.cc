#include "systole/graph/composition.h"
#include "systole/train/layers/layer_scope.h"

namespace systole::layers {
namespace {

PoolOptions pool_options(std::string_view layer, const Pooling2DOptions& options) {
  check_positive(layer, "pool_size", options.pool_size);
  check_positive(layer, "strides", options.strides);
  return {.ksize = {options.pool_size.height, options.pool_size.width},
          .strides = {options.strides.height, options.strides.width},
          .padding = options.padding,
          .data_format = op_data_format(layer, options.data_format)};
}

}  // namespace

Output max_pooling2d(Input inputs, const Pooling2DOptions& options) {
  const CompositionScope scope(inputs, options.name, "max_pooling2d");
  const Output x = resolve_inputs("max_pooling2d", inputs, 4);
  return max_pool(x, pool_options("max_pooling2d", options));
}

Output average_pooling2d(Input inputs, const Pooling2DOptions& options) {
  const CompositionScope scope(inputs, options.name, "average_pooling2d");
  const Output x = resolve_inputs("average_pooling2d", inputs, 4);
  return avg_pool(x, pool_options("average_pooling2d", options));
}

}  // namespace systole::layers
