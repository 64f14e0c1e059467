#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/composition.h"
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

Output max_pooling2d(const Input& inputs, const Pooling2DOptions& options) {
  const CompositionScope scope(inputs, options.name, "max_pooling2d");
  const Output x = resolve_inputs("max_pooling2d", inputs, 4);
  return max_pool(x, pool_options("max_pooling2d", options));
}

Output average_pooling2d(const Input& inputs, const Pooling2DOptions& options) {
  const CompositionScope scope(inputs, options.name, "average_pooling2d");
  const Output x = resolve_inputs("average_pooling2d", inputs, 4);
  return avg_pool(x, pool_options("average_pooling2d", options));
}

namespace {

// Pools images of one row.
Output pool_1d(std::string_view layer, const Input& inputs, const Pooling1DOptions& options,
               Output (*pool)(const Input&, const PoolOptions&)) {
  const CompositionScope scope(inputs, options.name, layer);
  const Output x = resolve_inputs(layer, inputs, 3);
  check_positive(layer, "pool_size", options.pool_size);
  check_positive(layer, "strides", options.strides);
  const std::string format = op_data_format(layer, options.data_format);
  const int row = channels_axis(format) == 1 ? 2 : 1;
  return squeeze(pool(expand_dims(x, row), {.ksize = {1, options.pool_size},
                                            .strides = {1, options.strides},
                                            .padding = options.padding,
                                            .data_format = format}),
                 {.axis = row});
}

}  // namespace

Output max_pooling1d(const Input& inputs, const Pooling1DOptions& options) {
  return pool_1d("max_pooling1d", inputs, options, &max_pool);
}

Output average_pooling1d(const Input& inputs, const Pooling1DOptions& options) {
  return pool_1d("average_pooling1d", inputs, options, &avg_pool);
}

}  // namespace systole::layers
