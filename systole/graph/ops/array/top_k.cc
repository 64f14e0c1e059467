#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/dtype_class.h"
#include "systole/graph/gradients/indexed_slices.h"
#include "systole/graph/lowering/sort_positions.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

enum : int { kTopKInput, kTopKK };

void check_k(const TensorType& x, int64_t k) {
  check_dtype("input", x.dtype, DTypeClass::number);
  const int last = x.shape.rank() - 1;
  if (last < 0 || k < 0 || (x.shape[last] != kUnknown && k > x.shape[last])) {
    throw invalid_argument(
        "k, got {} for a tensor of {}, expected at most the size of its last axis", k, x);
  }
}

std::vector<TensorType> infer_top_k(const InferContext& c) {
  const TensorType& x = c.input(kTopKInput);
  const int64_t k = known_ints(c, kTopKK, "k").at(0);
  check_k(x, k);
  Shape result = x.shape;
  result.set_dim(x.shape.rank() - 1, k);
  return {{x.dtype, result}, {DType::s32, result}};
}

// left > right; NaN is above all numbers, as in a sort it must be somewhere.
hlo::Value is_before(hlo::Builder& b, hlo::Value left, hlo::Value right) {
  using Direction = hlo::ComparisonDirection;
  const hlo::Value greater = b.compare(left, right, Direction::gt);
  if (!is_floating(left.dtype())) return greater;
  const hlo::Value left_is_nan = b.compare(left, left, Direction::ne);
  const hlo::Value right_is_number = b.compare(right, right, Direction::eq);
  return b.binary(hlo::Opcode::or_, greater,
                  b.binary(hlo::Opcode::and_, left_is_nan, right_is_number));
}

// A stable sort, largest first, of values and their positions; the first k of each row.
std::vector<hlo::Value> lower_top_k(LowerContext& c) {
  hlo::Builder& b = c.b;
  const hlo::Value x = c.input(kTopKInput);
  const int last = x.shape().rank() - 1;
  const int64_t k = c.constant_ints(kTopKK).at(0);
  check_k(x.type(), k);
  const SortedElements sorted = sort_with_positions(b, x, last, is_before);
  Dims limit = x.shape().dims();
  limit[last] = k;
  const Dims start(limit.size(), 0);
  return {b.slice(sorted.elements, start, limit), b.slice(sorted.positions, start, limit)};
}

// Each value's gradient goes back to its place: a gather's gradient over the rows laid end to end.
std::vector<Output> top_k_gradient(GradientContext& c) {
  const Output x = c.input(kTopKInput);
  const int last = x.shape().rank() - 1;
  const int64_t k = c.output(1).shape()[last];
  if (k == 0) return {zeros_like(x), {}};
  const Output sizes = shape(x);
  const Output total = size(x);
  const Output row = reshape(slice(sizes, {last}, {1}), std::vector<int64_t>());
  const Output row_starts = reshape(range(0, total, row), {-1, 1});
  const Output places = add(reshape(c.output(1), {-1, k}), row_starts);
  const Output flat =
      gather_grad(reshape(c.grad(0), {-1}), reshape(places, {-1}), reshape(total, {1}), 0);
  return {reshape(flat, sizes), {}};
}

}  // namespace

TopK top_k(const Input& input, const TopKOptions& options) {
  const CompositionScope scope(input, options.name, "TopKV2");
  const Output x = resolve("TopKV2", input);
  Node* const node = Graph::current().add_node("TopKV2", {x, int_constant(options.k, "k")},
                                               {{"T", x.dtype()}, {"sorted", options.sorted}}, {},
                                               scope.result().name);
  return {node->output(0), node->output(1)};
}

namespace ops {
extern const OpDef op_top_k{
    .name = "TopKV2",
    .doc = "The largest elements along the last axis, and where they are.",
    .inputs = "input: T, k: int32",
    .outputs = "values: T, indices: int32",
    .attrs = "sorted: bool = true",
    .infer = infer_top_k,
    .lower = lower_top_k,
    .gradient = top_k_gradient,
};
}  // namespace ops
}  // namespace systole
