#include <fmt/ranges.h>
#include <algorithm>

#include "systole/graph/array_common.h"
#include "systole/graph/array_ops.h"
#include "systole/graph/node_builder.h"

namespace systole {
namespace {

enum : int { kValue, kSizes, kAxis };

// Sizes with the -1 among them, if any, replaced by what `total` leaves.
std::vector<int64_t> resolved(std::vector<int64_t> sizes, int64_t total) {
  const auto open = std::ranges::find(sizes, kUnknown);
  int64_t sum = 0;
  for (const int64_t size : sizes) sum += size == kUnknown ? 0 : size;
  if (open != sizes.end() && total != kUnknown) *open = total - sum;
  const bool fits = total == kUnknown || (open != sizes.end() ? *open >= 0 : sum == total);
  if (!fits || std::ranges::count(sizes, kUnknown) > 1) {
    throw invalid_argument("sizes, got [{}], expected a sum of {}", fmt::join(sizes, ", "), total);
  }
  return sizes;
}

std::vector<TensorType> infer(const InferContext& c) {
  const TensorType& x = c.input(kValue);
  const int axis = checked_axis(known_ints(c, kAxis, "axis").at(0), x.shape.rank());
  std::vector<TensorType> results;
  for (const int64_t size : resolved(known_ints(c, kSizes, "sizes"), x.shape[axis])) {
    TensorType part = x;
    part.shape.set_dim(axis, size);
    results.push_back(part);
  }
  return results;
}

std::vector<hlo::Value> lower(LowerContext& c) {
  const Shape& x = c.input(kValue).shape();
  const int axis = checked_axis(c.constant_ints(kAxis).at(0), x.rank());
  std::vector<hlo::Value> results;
  Dims start(static_cast<size_t>(x.rank()), 0);
  Dims limit = x.dims();
  int64_t& begin = start[static_cast<size_t>(axis)];
  int64_t& end = limit[static_cast<size_t>(axis)];
  for (const int64_t size : resolved(c.constant_ints(kSizes), x[axis])) {
    end = begin + size;
    results.push_back(c.b.slice(c.input(kValue), start, limit));
    begin = end;
  }
  return results;
}

std::vector<Output> gradient(GradientContext& c) {
  std::vector<Output> parts;
  for (int i = 0; i < c.node.num_outputs(); ++i) parts.push_back(c.grad(i));
  return {concat(parts, known_ints(c.input(kAxis)).at(0)), {}, {}};
}

}  // namespace

std::vector<Output> split(Input value, const std::vector<int64_t>& sizes, const SplitOptions& options) {
  const Output x = resolve("SplitV", value);
  Node* const node = Graph::current().add_node(
      "SplitV", {x, ints_constant(sizes), int_constant(options.axis)},
      {{"T", x.dtype()}, {"num_split", static_cast<int64_t>(sizes.size())}}, value.where(), options.name);
  std::vector<Output> results;
  for (int i = 0; i < node->num_outputs(); ++i) results.push_back(node->output(i));
  return results;
}

std::vector<Output> split(Input value, int64_t num, const SplitOptions& options) {
  const Output x = resolve("split", value);
  const int axis = checked_axis(options.axis, x.shape().rank());
  const int64_t total = x.shape()[axis];
  if (num < 1 || total == kUnknown || total % num != 0) {
    throw invalid_argument("split: axis {} of {} into {} parts, expected a known size that {} divides, at {}", axis,
                           x.shape(), num, num, value.where().to_string());
  }
  return split(x, std::vector<int64_t>(static_cast<size_t>(num), total / num), options);
}

namespace ops {
extern const OpDef op_split;
const OpDef op_split{
    .name = "SplitV",
    .doc = "Parts of given sizes along an axis.",
    .infer = infer,
    .lower = lower,
    .gradient = gradient,
};
}  // namespace ops
}  // namespace systole
