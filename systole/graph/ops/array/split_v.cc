#include <fmt/ranges.h>

#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

enum : int { kSplitVValue, kSplitVSizes, kSplitVAxis };

// Sizes with the -1 among them, if any, replaced by what `total` leaves.
std::vector<int64_t> resolved_sizes(const std::vector<int64_t>& sizes, int64_t total) {
  int64_t sum = 0;
  int64_t open = 0;
  bool negative = false;
  for (const int64_t size : sizes) {
    if (size == kUnknown) ++open;
    negative = negative || size < kUnknown;
    sum += std::max<int64_t>(size, 0);
  }
  const bool fits = total == kUnknown || (open == 1 ? sum <= total : sum == total);
  if (negative || open > 1 || !fits) {
    throw invalid_argument("sizes, got [{}], expected a sum of {} and at most one -1",
                           fmt::join(sizes, ","), total == kUnknown ? "?" : fmt::to_string(total));
  }
  std::vector<int64_t> result = sizes;
  if (total != kUnknown) std::ranges::replace(result, kUnknown, total - sum);
  return result;
}

std::vector<TensorType> infer_split_v(const InferContext& c) {
  const TensorType& x = c.input(kSplitVValue);
  const int axis = checked_axis(known_ints(c, kSplitVAxis, "axis").at(0), x.shape.rank());
  std::vector<TensorType> results;
  for (const int64_t size : resolved_sizes(known_ints(c, kSplitVSizes, "sizes"), x.shape[axis])) {
    results.push_back(x);
    results.back().shape.set_dim(axis, size);
  }
  return results;
}

std::vector<hlo::Value> lower_split_v(LowerContext& c) {
  const hlo::Value x = c.input(kSplitVValue);
  const int axis = checked_axis(c.constant_ints(kSplitVAxis).at(0), x.shape().rank());
  return cut(c.b, x, axis, resolved_sizes(c.constant_ints(kSplitVSizes), x.shape()[axis]));
}

std::vector<Output> split_v_gradient(GradientContext& c) {
  std::vector<Output> parts;
  for (int i = 0; i < c.node.num_outputs(); ++i) parts.push_back(c.grad(i));
  return {concat(parts, known_ints(c.input(kSplitVAxis)).at(0)), {}, {}};
}

}  // namespace

std::vector<Output> split(const Input& value, const std::vector<int64_t>& sizes,
                          const SplitOptions& options) {
  const CompositionScope scope(value, options.name, "split");
  const Output x = resolve("SplitV", value);
  return Graph::current()
      .add_node("SplitV",
                {x, ints_constant(sizes, "size_splits"), int_constant(options.axis, "split_dim")},
                {{"T", x.dtype()}, {"num_split", static_cast<int64_t>(sizes.size())}}, {},
                scope.result().name)
      ->outputs();
}

namespace ops {
extern const OpDef op_split_v{
    .name = "SplitV",
    .doc = "Parts of given sizes along an axis.",
    .inputs = "value: T, size_splits: Tlen, split_dim: int32",
    .outputs = "output: num_split * T",
    .infer = infer_split_v,
    .lower = lower_split_v,
    .gradient = split_v_gradient,
    .traits = {.moves_elements = true},
};
}  // namespace ops
}  // namespace systole
