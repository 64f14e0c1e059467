// AvgPool and its gradient, of images and of volumes.
#include "systole/graph/api/array_ops.h"
#include "systole/graph/ops/nn/pooling.h"

namespace systole {
namespace {

enum : int { kAvgPoolGradInputSizes, kAvgPoolGradGradient };

}  // namespace

std::vector<hlo::Value> lower_avg_pool(LowerContext& c) {
  hlo::Builder& b = c.b;
  const hlo::Value x = b.convert(c.input(0), accumulation_dtype(c.input(0).dtype()));
  const SpatialWindow window = pool_window(c.node.attrs(), x.shape());
  const hlo::Value sums = reduce_window(b, x, hlo::Opcode::add, pool_attrs(window));
  return {b.convert(divide_by_counts(b, sums, window), c.input(0).dtype())};
}

std::vector<Output> avg_pool_gradient(GradientContext& c) {
  return {add_pool_gradient(c, {shape(c.input(0)), c.grad()})};
}

std::vector<TensorType> infer_avg_pool_grad(const InferContext& c) {
  check_dtype("gradient", c.input(kAvgPoolGradGradient).dtype, DTypeClass::floating);
  const auto sizes = c.input_as_shape(kAvgPoolGradInputSizes);
  if (!sizes)
    throw invalid_argument("input_sizes, got a value known only at run time, expected a shape");
  return {{c.input(kAvgPoolGradGradient).dtype, *sizes}};
}

// Each element gets the mean's share of every window that it lies in: the shares, spread out by the
// strides, summed over a window of the same size.
std::vector<hlo::Value> lower_avg_pool_grad(LowerContext& c) {
  hlo::Builder& b = c.b;
  const DType dtype = c.input(kAvgPoolGradGradient).dtype();
  const SpatialWindow window =
      pool_window(c.node.attrs(), Shape(c.constant_ints(kAvgPoolGradInputSizes)));
  const hlo::Value shares = divide_by_counts(
      b, b.convert(c.input(kAvgPoolGradGradient), accumulation_dtype(dtype)), window);
  const auto rank = static_cast<size_t>(window.format.rank());
  Dims low(rank, 0);
  Dims high(rank, 0);
  Dims interior(rank, 0);
  hlo::WindowAttrs sums = pool_attrs(window);
  for (size_t i = 0; i < window.axes.size(); ++i) {
    const WindowAxis& axis = window.axes[i];
    const auto at = static_cast<size_t>(window.format.spatial(i));
    low[at] = axis.window - 1 - axis.pads().first;
    interior[at] = axis.stride - 1;
    high[at] = axis.input + axis.window - 1 - ((axis.output() - 1) * axis.stride + 1) - low[at];
    sums.window_strides[at] = 1;
    sums.padding[at] = {0, 0};
  }
  const hlo::Value spread = b.pad(shares, b.scalar(shares.dtype(), 0), low, high, interior);
  return {b.convert(reduce_window(b, spread, hlo::Opcode::add, sums), dtype)};
}

// Linear: the gradient's own gradient is the pooling of it.
std::vector<Output> avg_pool_grad_gradient(GradientContext& c) {
  return {{}, add_pool_of_gradient(c, {c.grad()})};
}

}  // namespace systole
