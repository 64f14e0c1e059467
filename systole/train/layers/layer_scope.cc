#include "systole/train/layers/layer_scope.h"

#include <fmt/core.h>

#include <limits>
#include <utility>

#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"

namespace systole::layers {

Training::Training(Output decided) : decided_(decided) {
  if (decided_.valid()) return;
  throw at_line(invalid_argument("training, got no tensor, expected a pred scalar or a bool"), {});
}

std::vector<Output> Training::choose(const std::function<std::vector<Output>()>& when_true,
                                     const std::function<std::vector<Output>()>& when_false) const {
  if (!decided_.valid()) return now_ ? when_true() : when_false();
  if (decided_.type() != TensorType{DType::pred, {}}) {
    throw at_line(invalid_argument("training, got {}, expected pred[]", decided_.type()), {});
  }
  return cond(decided_, when_true, when_false, {.name = "training"});
}

Variable weight(std::string_view name, const Shape& shape, const WeightOptions& options) {
  return get_variable(name, shape,
                      {.dtype = options.dtype,
                       .initializer = options.initializer,
                       .trainable = options.trainable,
                       .regularizer = options.regularizer});
}

Output resolve_inputs(std::string_view layer, const Input& inputs, int rank) {
  const Output x = resolve_as(layer, inputs, DTypeClass::floating);
  if (rank >= 0 && x.shape().rank() != rank) {
    throw at_line(invalid_argument("{}: inputs, got {}, expected rank {}", layer, x.type(), rank),
                  inputs.where());
  }
  return x;
}

std::string op_data_format(std::string_view layer, const std::string& data_format) {
  if (data_format == "channels_last") return "NHWC";
  if (data_format == "channels_first") return "NCHW";
  throw at_line(
      invalid_argument("{}: data_format, got '{}', expected 'channels_last' or 'channels_first'",
                       layer, data_format),
      {});
}

int channels_axis(const std::string& op_format) { return op_format == "NHWC" ? 3 : 1; }

int64_t known_size(std::string_view layer, const Output& inputs, int axis) {
  const int64_t size = inputs.shape()[axis];
  if (size != kUnknown) return size;
  throw at_line(invalid_argument("{}: axis {} of inputs, got {}, expected a known size", layer,
                                 axis, inputs.type()),
                {});
}

void check_positive(std::string_view layer, std::string_view what, int64_t value) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  if (value >= 1 && value <= kMax) return;
  throw at_line(invalid_argument("{}: {}, got {}, expected {}", layer, what, value,
                                 value < 1 ? "at least 1" : fmt::format("at most {}", kMax)),
                {});
}

void check_positive(std::string_view layer, std::string_view what, const Extent& value) {
  check_positive(layer, what, std::min(value.height, value.width));
}

}  // namespace systole::layers
