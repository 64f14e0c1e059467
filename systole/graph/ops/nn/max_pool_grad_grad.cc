#include <tuple>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/ops/nn/pooling.h"

namespace systole {
namespace {

enum : int { kMaxPoolGradGradInput, kMaxPoolGradGradResult, kMaxPoolGradGradGradient };

// The elements of a padded x at one place of every window.
hlo::Value at_place(hlo::Builder& b, hlo::Value x, const ImageWindow& window, int64_t row,
                    int64_t column) {
  Dims start(4, 0);
  Dims limit = x.shape().dims();
  Dims strides(4, 1);
  const int64_t place[2] = {row, column};
  for (int i = 0; i < 2; ++i) {
    const WindowAxis& axis = window.axis[i];
    const auto at = static_cast<size_t>(window.format.spatial[i]);
    start[at] = place[i];
    limit[at] = place[i] + (axis.output() - 1) * axis.stride + 1;
    strides[at] = axis.stride;
  }
  return b.slice(x, start, limit, strides);
}

// Walks through the places of the windows, all windows at once, and keeps what lies at the largest
// element so far.
std::vector<hlo::Value> lower_max_pool_grad_grad(LowerContext& c) {
  hlo::Builder& b = c.b;
  const hlo::Value x = c.input(kMaxPoolGradGradInput);
  const ImageWindow window = pool_window(c.node.attrs(), x.shape());
  if (c.input(kMaxPoolGradGradResult).shape().num_elements() == 0)
    return {c.input(kMaxPoolGradGradResult)};
  Dims low(4, 0);
  Dims high(4, 0);
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<size_t>(window.format.spatial[i]);
    std::tie(low[at], high[at]) = window.axis[i].pads();
  }
  const hlo::Value lowest = b.identity(hlo::Opcode::maximum, x.dtype());
  const hlo::Value values = b.pad(x, lowest, low, high);
  const hlo::Value payloads =
      b.pad(c.input(kMaxPoolGradGradGradient), b.scalar(x.dtype(), 0), low, high);
  hlo::Value best;
  hlo::Value payload;
  for (int64_t row = 0; row < window.axis[0].window; ++row) {
    for (int64_t column = 0; column < window.axis[1].window; ++column) {
      const hlo::Value value = at_place(b, values, window, row, column);
      const hlo::Value candidate = at_place(b, payloads, window, row, column);
      if (!best) {
        best = value;
        payload = candidate;
        continue;
      }
      const hlo::Value larger = b.compare(value, best, hlo::ComparisonDirection::gt);
      best = b.select(larger, value, best);
      payload = b.select(larger, candidate, payload);
    }
  }
  return {payload};
}

// Linear in the gradient, and what MaxPoolGrad undoes.
std::vector<Output> max_pool_grad_grad_gradient(GradientContext& c) {
  return {zeros_like(c.input(kMaxPoolGradGradInput)),
          {},
          max_pool_grad(c.input(kMaxPoolGradGradInput), c.input(kMaxPoolGradGradResult), c.grad(),
                        c.node.attrs())};
}

}  // namespace

Output max_pool_grad_grad(Output input, Output result, Output gradient, const AttrMap& attrs) {
  return {Graph::current().add_node("MaxPoolGradGrad", {input, result, gradient}, attrs), 0};
}

namespace ops {
extern const OpDef op_max_pool_grad_grad;
const OpDef op_max_pool_grad_grad{
    .name = "MaxPoolGradGrad",
    .doc = "What lies, in a tensor like the input, at the first largest element of each window.",
    .inputs = "orig_input: T, orig_output: T, grad: T",
    .outputs = "output: T",
    .attrs = "ksize: list(int), strides: list(int), padding: string, data_format: string = 'NHWC'",
    .infer =
        [](const InferContext& c) { return infer_max_pool_gradient(c, kMaxPoolGradGradResult); },
    .lower = lower_max_pool_grad_grad,
    .gradient = max_pool_grad_grad_gradient,
};
}  // namespace ops
}  // namespace systole
