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
  const hlo::Value keys = random_bits(c, DType::u64, {rows}, reserved_blocks(rows));
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

// The element at `index` (a scalar) of a vector, as a vector of one.
hlo::Value element_at(hlo::Builder& b, hlo::Value vector, hlo::Value index) {
  const hlo::Value starts[] = {index};
  return b.dynamic_slice(vector, starts, {1});
}

// One step of the loop in swapped_order: state (i, order, words) -> the next.
std::vector<hlo::Value> swap_one(hlo::Builder& b, std::span<const hlo::Value> state, int64_t rows) {
  const hlo::Value i = state[0];
  const hlo::Value left = b.subtract(b.constant(Tensor::scalar(rows)), i);
  const hlo::Value word = b.convert(b.reshape(element_at(b, state[2], i), {}), DType::s64);
  const hlo::Value other = b.add(i, b.binary(hlo::Opcode::remainder, word, left));
  const hlo::Value here = element_at(b, state[1], i);
  const hlo::Value there = element_at(b, state[1], other);
  const hlo::Value at_i[] = {i};
  const hlo::Value at_other[] = {other};
  const hlo::Value moved = b.dynamic_update_slice(state[1], there, at_i);
  return {b.add(i, b.constant(Tensor::scalar(int64_t{1}))),
          b.dynamic_update_slice(moved, here, at_other), state[2]};
}

// TensorFlow's order of rows with seeds: row i changes places with one of those from i on, by the
// remainder of a word. (core/kernels/random_shuffle_op.cc)
hlo::Value swapped_order(LowerContext& c, int64_t rows) {
  if (rows < 2) return c.b.iota({DType::s64, {rows}}, 0);
  const auto blocks = static_cast<uint64_t>((rows - 1 + 3) / 4);
  const std::vector<hlo::Value> initial = {c.b.constant(Tensor::scalar(int64_t{0})),
                                           c.b.iota({DType::s64, {rows}}, 0),
                                           random_bits(c, DType::u32, {rows - 1}, blocks)};
  const auto parameters = [&](hlo::Computation& region) {
    std::vector<hlo::Value> state;
    for (const hlo::Value& value : initial) state.push_back(region.add_parameter(value.type()));
    return state;
  };
  const auto fill = [&](hlo::Instruction& loop) {
    hlo::Computation& condition = loop.add_region();
    hlo::Builder b(condition);
    const hlo::Value last = b.constant(Tensor::scalar(rows - 1));
    condition.set_results(
        {b.compare(parameters(condition)[0], last, hlo::ComparisonDirection::lt)});
    hlo::Computation& body = loop.add_region();
    hlo::Builder in_body(body);
    body.set_results(swap_one(in_body, parameters(body), rows));
  };
  return c.b.op_with_regions(hlo::Opcode::while_, initial, hlo::NoAttrs{}, fill)->result(1);
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
  const hlo::Value order =
      is_seeded(c.node) ? swapped_order(c, shape[0]) : random_order(c, shape[0]);
  return {c.b.op(hlo::Opcode::gather, {x, order}, attrs)->result()};
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
