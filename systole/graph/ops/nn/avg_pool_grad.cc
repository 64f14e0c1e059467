#include "systole/graph/ops/nn/pooling.h"

namespace systole {
namespace {

enum : int { kAvgPoolGradInputSizes, kAvgPoolGradGradient };

// Each element gets the mean's share of every window that it lies in: the shares, spread out by the
// strides, summed over a window of the same size.
std::vector<hlo::Value> lower_avg_pool_grad(LowerContext& c) {
  hlo::Builder& b = c.b;
  const DType dtype = c.input(kAvgPoolGradGradient).dtype();
  const ImageWindow window =
      pool_window(c.node.attrs(), Shape(c.constant_ints(kAvgPoolGradInputSizes)));
  const hlo::Value shares = divide_by_counts(
      b, b.convert(c.input(kAvgPoolGradGradient), accumulation_dtype(dtype)), window);
  Dims low(4, 0);
  Dims high(4, 0);
  Dims interior(4, 0);
  hlo::WindowAttrs sums = pool_attrs(window);
  for (int i = 0; i < 2; ++i) {
    const WindowAxis& axis = window.axis[i];
    const auto at = static_cast<size_t>(window.format.spatial[i]);
    low[at] = axis.window - 1 - axis.pads().first;
    interior[at] = axis.stride - 1;
    high[at] = axis.input + axis.window - 1 - ((axis.output() - 1) * axis.stride + 1) - low[at];
    sums.window_strides[at] = 1;
    sums.padding[at] = {0, 0};
  }
  const hlo::Value spread = b.pad(shares, b.scalar(shares.dtype(), 0), low, high, interior);
  return {b.convert(reduce_window(b, spread, hlo::Opcode::add, sums), dtype)};
}

std::vector<TensorType> infer_avg_pool_grad(const InferContext& c) {
  check_dtype("gradient", c.input(kAvgPoolGradGradient).dtype, DTypeClass::floating);
  const auto sizes = c.input_as_shape(kAvgPoolGradInputSizes);
  if (!sizes)
    throw invalid_argument("input_sizes, got a value known only at run time, expected a shape");
  return {{c.input(kAvgPoolGradGradient).dtype, *sizes}};
}

// Linear: the gradient's own gradient is the pooling of it.
std::vector<Output> gradient(GradientContext& c) {
  return {{}, {Graph::current().add_node("AvgPool", {c.grad()}, c.node.attrs()), 0}};
}

}  // namespace

Output avg_pool_grad(Output input_sizes, Output gradient, const AttrMap& attrs) {
  return {Graph::current().add_node("AvgPoolGrad", {input_sizes, gradient}, attrs), 0};
}

namespace ops {
extern const OpDef op_avg_pool_grad;
const OpDef op_avg_pool_grad{
    .name = "AvgPoolGrad",
    .doc = "The gradient of AvgPool.",
    .inputs = "orig_input_shape: int32, grad: T",
    .outputs = "output: T",
    .attrs = "ksize: list(int), strides: list(int), padding: string, data_format: string = 'NHWC'",
    .infer = infer_avg_pool_grad,
    .lower = lower_avg_pool_grad,
    .gradient = gradient,
};
}  // namespace ops
}  // namespace systole
