// MaxPool and its gradients, of images and of volumes.
#include <tuple>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/ops/nn/pooling.h"

namespace systole {
namespace {

// The inputs of both gradients; the third is the gradient of the result or of the input.
enum : int { kMaxPoolInput, kMaxPoolResult, kMaxPoolGradient };

// The elements of a padded x at one place of every window.
hlo::Value at_place(hlo::Builder& b, hlo::Value x, const SpatialWindow& window,
                    const std::vector<int64_t>& place) {
  const auto rank = static_cast<size_t>(window.format.rank());
  Dims start(rank, 0);
  Dims limit = x.shape().dims();
  Dims strides(rank, 1);
  for (size_t i = 0; i < place.size(); ++i) {
    const WindowAxis& axis = window.axes[i];
    const auto at = static_cast<size_t>(window.format.spatial(i));
    start[at] = place[i];
    limit[at] = place[i] + (axis.output() - 1) * axis.stride + 1;
    strides[at] = axis.stride;
  }
  return b.slice(x, start, limit, strides);
}

// Moves on to the next place in a window, in row-major order; false after the last.
bool next_place(const SpatialWindow& window, std::vector<int64_t>& place) {
  for (size_t i = place.size(); i-- > 0;) {
    if (++place[i] < window.axes[i].window) return true;
    place[i] = 0;
  }
  return false;
}

}  // namespace

std::vector<hlo::Value> lower_max_pool(LowerContext& c) {
  const SpatialWindow window = pool_window(c.node.attrs(), c.input(0).shape());
  return {reduce_window(c.b, c.input(0), hlo::Opcode::maximum, pool_attrs(window))};
}

std::vector<Output> max_pool_gradient(GradientContext& c) {
  return {add_pool_gradient(c, {c.input(0), c.output(), c.grad()})};
}

std::vector<TensorType> infer_max_pool_grad(const InferContext& c) {
  return infer_max_pool_gradient(c, kMaxPoolInput);
}

std::vector<hlo::Value> lower_max_pool_grad(LowerContext& c) {
  const hlo::Value x = c.input(kMaxPoolInput);
  const SpatialWindow window = pool_window(c.node.attrs(), x.shape());
  const auto fill = [&](hlo::Instruction& i) {
    hlo::Computation& select = i.add_region();
    hlo::Builder b(select);
    const hlo::Value left = select.add_parameter({x.dtype(), {}});
    const hlo::Value right = select.add_parameter({x.dtype(), {}});
    select.set_results({b.compare(left, right, hlo::ComparisonDirection::ge)});
    hlo::fill_reducer(i.add_region(), hlo::Opcode::add, x.dtype());
  };
  return {c.b.op_with_regions(hlo::Opcode::select_and_scatter,
                              {x, c.input(kMaxPoolGradient), c.b.scalar(x.dtype(), 0)},
                              pool_attrs(window), fill)
              ->result()};
}

// Linear in the gradient; by the input its derivative is 0 wherever it has one.
std::vector<Output> max_pool_grad_gradient(GradientContext& c) {
  const Output input = c.input(kMaxPoolInput);
  return {zeros_like(input), {}, add_pool_gradient(c, {input, c.input(kMaxPoolResult), c.grad()})};
}

std::vector<TensorType> infer_max_pool_grad_grad(const InferContext& c) {
  return infer_max_pool_gradient(c, kMaxPoolResult);
}

// Walks through the places of the windows, all windows at once, and keeps what lies at the largest
// element so far.
std::vector<hlo::Value> lower_max_pool_grad_grad(LowerContext& c) {
  hlo::Builder& b = c.b;
  const hlo::Value x = c.input(kMaxPoolInput);
  const SpatialWindow window = pool_window(c.node.attrs(), x.shape());
  if (c.input(kMaxPoolResult).shape().num_elements() == 0) return {c.input(kMaxPoolResult)};
  Dims low(static_cast<size_t>(window.format.rank()), 0);
  Dims high = low;
  for (size_t i = 0; i < window.axes.size(); ++i) {
    const auto at = static_cast<size_t>(window.format.spatial(i));
    std::tie(low[at], high[at]) = window.axes[i].pads();
  }
  const hlo::Value lowest = b.identity(hlo::Opcode::maximum, x.dtype());
  const hlo::Value values = b.pad(x, lowest, low, high);
  const hlo::Value payloads = b.pad(c.input(kMaxPoolGradient), b.scalar(x.dtype(), 0), low, high);
  std::vector<int64_t> place(window.axes.size(), 0);
  hlo::Value best = at_place(b, values, window, place);
  hlo::Value payload = at_place(b, payloads, window, place);
  while (next_place(window, place)) {
    const hlo::Value value = at_place(b, values, window, place);
    const hlo::Value larger = b.compare(value, best, hlo::ComparisonDirection::gt);
    best = b.select(larger, value, best);
    payload = b.select(larger, at_place(b, payloads, window, place), payload);
  }
  return {payload};
}

// Linear in the gradient, and what MaxPoolGrad undoes.
std::vector<Output> max_pool_grad_grad_gradient(GradientContext& c) {
  const Output input = c.input(kMaxPoolInput);
  return {
      zeros_like(input), {}, add_pool_of_gradient(c, {input, c.input(kMaxPoolResult), c.grad()})};
}

}  // namespace systole
