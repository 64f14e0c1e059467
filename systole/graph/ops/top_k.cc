#include "systole/graph/array_common.h"
#include "systole/graph/array_ops.h"
#include "systole/graph/composition.h"
#include "systole/graph/dtype_class.h"
#include "systole/graph/math_ops.h"
#include "systole/hlo/chlo/chlo.h"

namespace systole {
namespace {

enum : int { kInput, kK };

void check_k(const TensorType& x, int64_t k) {
  check_dtype("input", x.dtype, DTypeClass::number);
  const int last = x.shape.rank() - 1;
  if (last < 0 || k < 0 || (x.shape[last] != kUnknown && k > x.shape[last])) {
    throw invalid_argument(
        "k, got {} for a tensor of {}, expected at most the size of its last axis", k, x);
  }
}

std::vector<TensorType> infer(const InferContext& c) {
  const TensorType& x = c.input(kInput);
  const int64_t k = known_ints(c, kK, "k").at(0);
  check_k(x, k);
  Shape result = x.shape;
  result.set_dim(x.shape.rank() - 1, k);
  return {{x.dtype, result}, {DType::s32, result}};
}

std::vector<hlo::Value> lower(LowerContext& c) {
  const hlo::Value x = c.input(kInput);
  const int64_t k = c.constant_ints(kK).at(0);
  check_k(x.type(), k);
  return hlo::chlo::find_expansion("top_k")(c.b, {&x, 1}, {.k = k}, {});
}

// Each value's gradient goes back to its place: a gather's gradient over the rows laid end to end.
std::vector<Output> gradient(GradientContext& c) {
  const Output x = c.input(kInput);
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

TopK top_k(Input input, const TopKOptions& options) {
  const CompositionScope scope(input, options.name, "TopKV2");
  const Output x = resolve("TopKV2", input);
  Node* const node = Graph::current().add_node("TopKV2", {x, int_constant(options.k, "k")},
                                               {{"T", x.dtype()}, {"sorted", options.sorted}}, {},
                                               scope.result().name);
  return {node->output(0), node->output(1)};
}

namespace ops {
extern const OpDef op_top_k;
const OpDef op_top_k{
    .name = "TopKV2",
    .doc = "The largest elements along the last axis, and where they are.",
    .infer = infer,
    .lower = lower,
    .gradient = gradient,
};
}  // namespace ops
}  // namespace systole
