#include "systole/graph/array_common.h"
#include "systole/graph/array_ops.h"
#include "systole/graph/math_ops.h"
#include "systole/graph/node_builder.h"

namespace systole {
namespace {

enum : int { kInput, kK };

std::vector<TensorType> infer(const InferContext& c) {
  const TensorType& x = c.input(kInput);
  const int64_t k = known_ints(c, kK, "k").at(0);
  const int64_t n = x.shape.rank() == 0 ? 0 : x.shape[x.shape.rank() - 1];
  if (x.shape.rank() == 0 || k < 0 || (n != kUnknown && k > n)) {
    throw invalid_argument("k, got {} for a tensor of {}, expected at most the size of its last axis", k, x);
  }
  Shape result = x.shape;
  result.set_dim(x.shape.rank() - 1, k);
  return {{x.dtype, result}, {DType::s32, result}};
}

// A stable sort, largest first, of values and their positions; the first k of each row.
std::vector<hlo::Value> lower(LowerContext& c) {
  hlo::Builder& b = c.b;
  const hlo::Value x = c.input(kInput);
  const int last = x.shape().rank() - 1;
  const hlo::Value positions = b.iota({DType::s32, x.shape()}, last);
  const auto fill = [&](hlo::Instruction& sort) {
    hlo::Computation& region = sort.add_region();
    hlo::Builder inner(region);
    const hlo::Value left = region.add_parameter({x.dtype(), {}});
    const hlo::Value right = region.add_parameter({x.dtype(), {}});
    region.add_parameter({DType::s32, {}});
    region.add_parameter({DType::s32, {}});
    region.set_results({inner.compare(left, right, hlo::ComparisonDirection::gt)});
  };
  hlo::Instruction* const sorted = b.op_with_regions(
      hlo::Opcode::sort, {x, positions}, hlo::SortAttrs{.dimension = last, .is_stable = true}, fill);
  Dims limit = x.shape().dims();
  limit[static_cast<size_t>(last)] = c.constant_ints(kK).at(0);
  const Dims start(limit.size(), 0);
  return {b.slice(sorted->result(0), start, limit), b.slice(sorted->result(1), start, limit)};
}

// Each value's gradient goes back to its place: a gather's gradient over the rows laid end to end.
std::vector<Output> gradient(GradientContext& c) {
  const Output sizes = shape(c.input(kInput));
  const int rank = c.input(kInput).shape().rank();
  const Output row = slice(sizes, {rank - 1}, {1});
  const Output total = reshape(size(c.input(kInput)), {1});
  const Output rows = reshape(range(0, reshape(total, {}), reshape(row, {})), {-1, 1});
  const Output places = add(reshape(c.output(1), {-1, c.output(1).shape()[rank - 1]}), rows);
  const Output flat = gather_grad(reshape(c.grad(0), {-1}), reshape(places, {-1}), total, 0);
  return {reshape(flat, sizes), {}};
}

}  // namespace

TopK top_k(Input input, const TopKOptions& options) {
  const Output x = resolve("TopKV2", input);
  Node* const node = Graph::current().add_node("TopKV2", {x, int_constant(options.k)},
                                               {{"T", x.dtype()}, {"sorted", options.sorted}}, input.where(),
                                               options.name);
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
