#include <fmt/ranges.h>

#include <algorithm>

#include "systole/graph/array_common.h"
#include "systole/graph/array_ops.h"
#include "systole/graph/composition.h"
#include "systole/graph/math_ops.h"

namespace systole {
namespace {

std::vector<TensorType> infer_tile(const InferContext& c) {
  const Shape& x = c.input(0).shape;
  const std::vector<int64_t> multiples = known_ints(c, 1, "multiples");
  if (static_cast<int>(multiples.size()) != x.rank() ||
      std::ranges::any_of(multiples, [](auto m) { return m < 0; })) {
    throw invalid_argument("multiples, got [{}] for a tensor of {}, expected {} numbers >= 0",
                           fmt::join(multiples, ", "), x, x.rank());
  }
  Shape result = x;
  for (int i = 0; i < x.rank(); ++i) {
    if (x[i] != kUnknown) result.set_dim(i, x[i] * multiples[static_cast<size_t>(i)]);
  }
  return {{c.input(0).dtype, result}};
}

// [a, b] -> [1, a, 1, b] -> [m, a, n, b] -> [m * a, n * b]
std::vector<hlo::Value> lower_tile(LowerContext& c) {
  const Shape& x = c.input(0).shape();
  const std::vector<int64_t> multiples = c.constant_ints(1);
  Dims repeated;
  Dims axes;
  Dims flat;
  for (int i = 0; i < x.rank(); ++i) {
    const int64_t m = multiples[static_cast<size_t>(i)];
    repeated.push_back(m);
    axes.push_back(static_cast<int64_t>(repeated.size()));
    repeated.push_back(x[i]);
    flat.push_back(m * x[i]);
  }
  return {c.b.reshape(c.b.broadcast_in_dim(c.input(0), Shape(repeated), axes), Shape(flat))};
}

std::vector<Output> tile_gradient(GradientContext& c) {
  const std::vector<int64_t> multiples = known_ints(c.input(1));
  const Output sizes = shape(c.input(0));
  std::vector<Output> split_sizes;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < multiples.size(); ++i) {
    axes.push_back(static_cast<int64_t>(2 * i));
    split_sizes.push_back(ints_constant({multiples[i]}));
    split_sizes.push_back(slice(sizes, {static_cast<int64_t>(i)}, {1}));
  }
  if (axes.empty()) return {c.grad(), {}};
  return {reduce_sum(reshape(c.grad(), concat(split_sizes, 0)), {.axis = axes}), {}};
}

}  // namespace

Output tile(const Input& input, const std::vector<int64_t>& multiples, const NameOptions& options) {
  const CompositionScope scope(input, options.name, "Tile");
  const Output x = resolve("Tile", input);
  return Graph::current()
      .add_node("Tile", {x, ints_constant(multiples, "multiples")}, {{"T", x.dtype()}}, {},
                scope.result().name)
      ->output();
}

namespace ops {
extern const OpDef op_tile;
const OpDef op_tile{
    .name = "Tile",
    .doc = "The tensor several times along each axis.",
    .infer = infer_tile,
    .lower = lower_tile,
    .gradient = tile_gradient,
};
}  // namespace ops
}  // namespace systole
