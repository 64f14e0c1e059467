#include "systole/graph/ops/nn/pooling.h"

#include "systole/graph/api/op_error.h"
#include "systole/graph/lowering/dtype_class.h"

namespace systole {

AttrMap pool_op_attrs(std::string_view op, const Input& value, const PoolOptions& options) {
  return with_op(op, value.where(), [&]() -> AttrMap {
    const DataFormat format(options.data_format);
    return {{"ksize", four_numbers(spatial_pair("ksize", options.ksize, format), format)},
            {"strides", four_numbers(spatial_pair("strides", options.strides, format), format)},
            {"padding", std::string(padding_name(options.padding))},
            {"data_format", options.data_format}};
  });
}

std::vector<TensorType> infer_pool(const InferContext& c, DTypeClass dtypes) {
  const TensorType& x = c.input(0);
  check_dtype("value", x.dtype, dtypes);
  const ImageWindow window = pool_window(c.attrs, x.shape);
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

hlo::Value divide_by_counts(hlo::Builder& b, hlo::Value x, const ImageWindow& window) {
  const auto padded = [](const WindowAxis& axis) {
    return axis.pads() != std::pair<int64_t, int64_t>();
  };
  const int64_t all = window.axis[0].window * window.axis[1].window;
  if (!padded(window.axis[0]) && !padded(window.axis[1])) {
    return b.divide(x, b.splat_like(x, static_cast<double>(all)));
  }
  Shape one_image{1, 1, 1, 1};
  for (int i = 0; i < 2; ++i) one_image.set_dim(window.format.spatial[i], window.axis[i].input);
  const hlo::Value ones = b.splat({x.dtype(), one_image}, 1);
  const hlo::Value counts = reduce_window(b, ones, hlo::Opcode::add, pool_attrs(window));
  return b.divide(x, b.broadcast(counts, x.shape()));
}

}  // namespace systole
