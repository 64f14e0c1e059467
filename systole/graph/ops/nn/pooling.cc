#include "systole/graph/ops/nn/pooling.h"

#include <algorithm>

#include "systole/graph/core/dtype_class.h"
#include "systole/graph/core/op_error.h"

namespace systole {

namespace {

template <class Options>
AttrMap pool_attrs_of(std::string_view op, const Input& value, const Options& options,
                      int num_spatial) {
  return with_op(op, value.where(), [&]() -> AttrMap {
    const DataFormat format(options.data_format, num_spatial);
    return {{"ksize", all_sizes(spatial_sizes("ksize", options.ksize, format), format)},
            {"strides", all_sizes(spatial_sizes("strides", options.strides, format), format)},
            {"padding", std::string(padding_name(options.padding))},
            {"data_format", options.data_format}};
  });
}

}  // namespace

AttrMap pool_op_attrs(std::string_view op, const Input& value, const PoolOptions& options) {
  return pool_attrs_of(op, value, options, 2);
}

AttrMap pool_op_attrs(std::string_view op, const Input& value, const Pool3DOptions& options) {
  return pool_attrs_of(op, value, options, 3);
}

std::vector<TensorType> infer_pool(const InferContext& c, DTypeClass dtypes, int num_spatial) {
  const TensorType& x = c.input(0);
  check_dtype("value", x.dtype, dtypes);
  if (x.shape.rank() != num_spatial + 2) {
    throw invalid_argument("value, got {}, expected rank {}", x.shape, num_spatial + 2);
  }
  const SpatialWindow window = pool_window(c.attrs, x.shape);
  return {{x.dtype, window.output_shape(x.shape, x.shape[window.format.channels])}};
}

std::vector<TensorType> infer_max_pool_gradient(const InferContext& c, int like) {
  const TensorType& input = c.input(0);
  check_dtype("input", input.dtype, DTypeClass::number);
  for (int i = 1; i < 3; ++i) {
    if (c.input(i).dtype == input.dtype) continue;
    throw invalid_argument("input, result and gradient, got {}, {} and {}, expected one dtype",
                           input, c.input(1), c.input(2));
  }
  return {c.input(like)};
}

hlo::Value reduce_window(hlo::Builder& b, hlo::Value x, hlo::Opcode reducer,
                         const hlo::WindowAttrs& attrs) {
  const hlo::Value initial = b.identity(reducer, x.dtype());
  return b
      .op_with_regions(
          hlo::Opcode::reduce_window, {x, initial}, attrs,
          [&](hlo::Instruction& i) { hlo::fill_reducer(i.add_region(), reducer, x.dtype()); })
      ->result();
}

hlo::Value divide_by_counts(hlo::Builder& b, hlo::Value x, const SpatialWindow& window) {
  const auto padded = [](const WindowAxis& axis) {
    return axis.pads() != std::pair<int64_t, int64_t>();
  };
  if (std::ranges::none_of(window.axes, padded)) {
    double all = 1;
    for (const WindowAxis& axis : window.axes) all *= static_cast<double>(axis.window);
    return b.divide(x, b.splat_like(x, all));
  }
  Shape one_image(Dims(static_cast<size_t>(window.format.rank()), 1));
  for (size_t i = 0; i < window.axes.size(); ++i) {
    one_image.set_dim(window.format.spatial(i), window.axes[i].input);
  }
  const hlo::Value ones = b.splat({x.dtype(), one_image}, 1);
  const hlo::Value counts = reduce_window(b, ones, hlo::Opcode::add, pool_attrs(window));
  return b.divide(x, b.broadcast(counts, x.shape()));
}

Output add_pool_gradient(const GradientContext& c, std::vector<Output> inputs) {
  const std::string op = std::string(c.node.op_name()) + "Grad";
  return {Graph::current().add_node(op, std::move(inputs), c.node.attrs()), 0};
}

Output add_pool_of_gradient(const GradientContext& c, std::vector<Output> inputs) {
  std::string_view op = c.node.op_name();
  op.remove_suffix(std::string_view("Grad").size());
  return {Graph::current().add_node(op, std::move(inputs), c.node.attrs()), 0};
}

}  // namespace systole
