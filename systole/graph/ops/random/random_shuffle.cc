#include "systole/graph/api/random_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/lowering/random_lowering.h"
#include "systole/graph/lowering/random_state.h"

namespace systole {
namespace {

std::vector<TensorType> infer_random_shuffle(const InferContext& c) {
  if (c.input(0).shape.rank() == 0) throw invalid_argument("value, got a scalar, expected rows");
  return {c.input(0)};
}

// The row numbers sorted by random keys of 64 bits.
hlo::Value random_order(LowerContext& c, int64_t rows) {
  const hlo::Value keys = random_bits(c, DType::u64, {rows});
  const hlo::Value numbers = c.b.iota({DType::s64, {rows}}, 0);
  const auto fill = [](hlo::Instruction& sort) {
    hlo::Computation& region = sort.add_region();
    const hlo::Value x = region.add_parameter({DType::u64, {}});
    const hlo::Value y = region.add_parameter({DType::u64, {}});
    region.add_parameter({DType::s64, {}});
    region.add_parameter({DType::s64, {}});
    region.set_results({hlo::Builder(region).compare(x, y, hlo::ComparisonDirection::lt)});
  };
  return c.b
      .op_with_regions(hlo::Opcode::sort, {keys, numbers},
                       hlo::SortAttrs{.dimension = 0, .is_stable = true}, fill)
      ->result(1);
}

std::vector<hlo::Value> lower_random_shuffle(LowerContext& c) {
  const hlo::Value x = c.input(0);
  const Shape& shape = x.shape();
  hlo::GatherAttrs attrs;
  attrs.collapsed_slice_dims = {0};
  attrs.start_index_map = {0};
  attrs.index_vector_dim = 1;
  attrs.slice_sizes = shape.dims();
  attrs.slice_sizes[0] = 1;
  for (int axis = 1; axis < shape.rank(); ++axis) attrs.offset_dims.push_back(axis);
  if (shape[0] == 0) return {x};
  return {c.b.op(hlo::Opcode::gather, {x, random_order(c, shape[0])}, attrs)->result()};
}

}  // namespace

Output random_shuffle(const Input& x, const RandomShuffleOptions& options) {
  const Output value = resolve("RandomShuffle", x);
  AttrMap attrs = random_attrs(options.seed);
  attrs.emplace("T", value.dtype());
  return Graph::current()
      .add_node("RandomShuffle", {value}, std::move(attrs), x.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_random_shuffle{
    .name = "RandomShuffle",
    .doc = "Its rows in a random order.",
    .inputs = "value: T",
    .outputs = "output: T",
    .attrs = "seed: int = 0, seed2: int = 0, _stream: int",
    .infer = infer_random_shuffle,
    .lower = lower_random_shuffle,
    .traits = {.stateful = true, .draws_random = true},
};
}  // namespace ops
}  // namespace systole
