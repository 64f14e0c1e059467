#include "systole/graph/pooling.h"

#include "systole/graph/dtype_class.h"

namespace systole {

AttrMap pool_op_attrs(std::string_view op, const PoolOptions& options) {
  try {
    const DataFormat format(options.data_format);
    return {{"ksize", four_numbers(spatial_pair("ksize", options.ksize, format), format)},
            {"strides", four_numbers(spatial_pair("strides", options.strides, format), format)},
            {"padding", std::string(padding_name(options.padding))},
            {"data_format", options.data_format}};
  } catch (const Error& error) {
    throw invalid_argument("{}: {}", op, error.message());
  }
}

std::vector<TensorType> infer_pool(const InferContext& c) {
  const TensorType& x = c.input(0);
  check_dtype("value", x.dtype, DTypeClass::floating);
  const ImageWindow window = pool_window(c.attrs, x.shape);
  return {{x.dtype, window.output_shape(x.shape, x.shape[window.format.channels])}};
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

hlo::Value window_counts(LowerContext& c, const TensorType& input) {
  const ImageWindow window = pool_window(c.node.attrs(), input.shape);
  return reduce_window(c.b, c.b.splat(input, 1), hlo::Opcode::add, pool_attrs(window));
}

}  // namespace systole
