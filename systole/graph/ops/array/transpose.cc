#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

std::vector<int64_t> checked_permutation(std::vector<int64_t> perm, const Shape& x) {
  std::vector<int64_t> sorted = perm;
  std::ranges::sort(sorted);
  bool valid = static_cast<int>(perm.size()) == x.rank();
  for (size_t i = 0; valid && i < sorted.size(); ++i) valid = sorted[i] == static_cast<int64_t>(i);
  if (!valid) {
    throw invalid_argument(
        "perm, got [{}] for a tensor of {}, expected a permutation of its {} axes",
        fmt::join(perm, ", "), x, x.rank());
  }
  return perm;
}

std::vector<TensorType> infer_transpose(const InferContext& c) {
  const Shape& x = c.input(0).shape;
  Dims dims;
  for (const int64_t axis : checked_permutation(known_ints(c, 1, "perm"), x)) {
    dims.push_back(x[static_cast<int>(axis)]);
  }
  return {{c.input(0).dtype, Shape(std::move(dims))}};
}

std::vector<hlo::Value> lower_transpose(LowerContext& c) {
  const std::vector<int64_t> perm = c.constant_ints(1);
  return {c.b.transpose(c.input(0), Dims(perm.begin(), perm.end()))};
}

std::vector<Output> transpose_gradient(GradientContext& c) {
  const std::vector<int64_t> perm = known_ints(c.input(1));
  std::vector<int64_t> back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) back[perm[i]] = static_cast<int64_t>(i);
  return {transpose(c.grad(), {.perm = back}), {}};
}

BatchResults batch_transpose(const BatchContext& c) {
  const auto perm = c.constant_ints(1);
  if (!perm || !c.inputs[0].batched) return std::nullopt;
  std::vector<int64_t> batched{0};
  for (const int64_t axis : *perm) batched.push_back(axis + 1);
  return std::vector{transpose(c.inputs[0].value, {.perm = batched})};
}

}  // namespace

Output transpose(const Input& a, const TransposeOptions& options) {
  const CompositionScope scope(a, options.name, "transpose");
  const Output value = resolve("Transpose", a);
  std::vector<int64_t> perm = options.perm;
  if (perm.empty()) {
    for (int axis = value.shape().rank(); axis-- > 0;) perm.push_back(axis);
  }
  return Graph::current()
      .add_node("Transpose", {value, ints_constant(perm, "perm")}, {{"T", value.dtype()}}, {},
                scope.result().name)
      ->output();
}

Output matrix_transpose(const Input& a, const NameOptions& options) {
  const CompositionScope scope(a, options.name, "matrix_transpose");
  const Output value = resolve("matrix_transpose", a);
  const int rank = value.shape().rank();
  if (rank < 2) {
    throw at_line(invalid_argument("matrix_transpose: a, got {}, expected rank >= 2", value.type()),
                  a.where());
  }
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transpose(value, {.perm = perm, .name = scope.result().name});
}

namespace ops {
extern const OpDef op_transpose{
    .name = "Transpose",
    .doc = "The axes in another order.",
    .inputs = "x: T, perm: Tperm",
    .outputs = "y: T",
    .infer = infer_transpose,
    .lower = lower_transpose,
    .gradient = transpose_gradient,
    .batch = {.rule = batch_transpose},
    .traits = {.moves_elements = true},
};
}  // namespace ops
}  // namespace systole
