#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/axes.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/ops/math/elementwise.h"
#include "systole/graph/ops/nn/window_geometry.h"

namespace systole {
namespace {

// NCHW keeps the channels in axis 1, every other layout last.
int channel_axis(const AttrMap& attrs, int rank) {
  return std::get<std::string>(attrs.find("data_format")->second) == "NCHW" ? 1 : rank - 1;
}

std::vector<TensorType> infer_bias_add(const InferContext& c) {
  const TensorType& value = c.input(0);
  const TensorType& bias = c.input(1);
  check_dtype("value", value.dtype, DTypeClass::number);
  const bool fits = value.shape.rank() >= 2 && bias.shape.rank() == 1 && bias.dtype == value.dtype;
  const Shape channels{fits ? value.shape[channel_axis(c.attrs, value.shape.rank())] : kUnknown};
  if (!fits || !bias.shape.compatible_with(channels)) {
    throw invalid_argument(
        "value and bias, got {} and {}, expected rank >= 2 and a vector of its channels", value,
        bias);
  }
  return {value};
}

std::vector<hlo::Value> lower_bias_add(LowerContext& c) {
  const Shape& shape = c.input(0).shape();
  const Dims axis{channel_axis(c.node.attrs(), shape.rank())};
  return {c.b.add(c.input(0), c.b.broadcast_in_dim(c.input(1), shape, axis))};
}

std::vector<Output> bias_add_gradient(GradientContext& c) {
  const int rank = c.input(0).shape().rank();
  const Dims rest = other_axes({channel_axis(c.node.attrs(), rank)}, rank);
  return {c.grad(), reduce_sum(c.grad(), {.axis = rest})};
}

}  // namespace

Output bias_add(const Input& value, const Input& bias, const BiasAddOptions& options) {
  with_op("BiasAdd", value.where(), [&] { return DataFormat(options.data_format); });
  return add_op("BiasAdd", {value, bias}, options.name, {{"data_format", options.data_format}});
}

namespace ops {
extern const OpDef op_bias_add{
    .name = "BiasAdd",
    .doc = "Adds a vector along the channels.",
    .inputs = "value: T, bias: T",
    .outputs = "output: T",
    .attrs = "data_format: string = 'NHWC'",
    .infer = infer_bias_add,
    .lower = lower_bias_add,
    .gradient = bias_add_gradient,
};
}  // namespace ops
}  // namespace systole
