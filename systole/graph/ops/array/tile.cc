#include <fmt/ranges.h>

#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

// Errors: INVALID_ARGUMENT unless there is a number >= 0 for each dimension of x.
void check_multiples(const std::vector<int64_t>& multiples, const Shape& x) {
  if (static_cast<int>(multiples.size()) == x.rank() &&
      std::ranges::none_of(multiples, [](auto m) { return m < 0; })) {
    return;
  }
  throw invalid_argument("multiples, got [{}] for a tensor of {}, expected {} numbers >= 0",
                         fmt::join(multiples, ", "), x, x.rank());
}

std::vector<TensorType> infer_tile(const InferContext& c) {
  const Shape& x = c.input(0).shape;
  Shape result = x;
  if (const auto value = c.constant_input(1)) {
    const std::vector<int64_t> multiples = known_ints(c, 1, "multiples");
    check_multiples(multiples, x);
    for (int i = 0; i < x.rank(); ++i) {
      if (x[i] != kUnknown) result.set_dim(i, x[i] * multiples[i]);
    }
    return {{c.input(0).dtype, result}};
  }
  // Known when the program is compiled; some may be known here.
  const Shape multiples =
      c.input_as_shape(1).value_or(Shape(Dims(static_cast<size_t>(x.rank()), kUnknown)));
  if (multiples.rank() != x.rank()) {
    throw invalid_argument("multiples, got {} for a tensor of {}, expected {} numbers", c.input(1),
                           x, x.rank());
  }
  for (int i = 0; i < x.rank(); ++i) {
    const bool known = x[i] != kUnknown && multiples[i] != kUnknown;
    result.set_dim(i, known ? x[i] * multiples[i] : kUnknown);
  }
  return {{c.input(0).dtype, result}};
}

// [a, b] -> [1, a, 1, b] -> [m, a, n, b] -> [m * a, n * b]
std::vector<hlo::Value> lower_tile(LowerContext& c) {
  const Shape& x = c.input(0).shape();
  const std::vector<int64_t> multiples = c.constant_ints(1);
  check_multiples(multiples, x);
  Dims repeated;
  Dims axes;
  Dims flat;
  for (int i = 0; i < x.rank(); ++i) {
    const int64_t m = multiples[i];
    repeated.push_back(m);
    axes.push_back(static_cast<int64_t>(repeated.size()));
    repeated.push_back(x[i]);
    flat.push_back(m * x[i]);
  }
  return {c.b.reshape(c.b.broadcast_in_dim(c.input(0), Shape(repeated), axes), Shape(flat))};
}

std::vector<Output> tile_gradient(GradientContext& c) {
  const int rank = c.input(0).shape().rank();
  const Output sizes = shape(c.input(0));
  const Output multiples = cast(c.input(1), DType::s32);
  std::vector<Output> split_sizes;
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < rank; ++i) {
    axes.push_back(2 * i);
    split_sizes.push_back(slice(multiples, {i}, {1}));
    split_sizes.push_back(slice(sizes, {i}, {1}));
  }
  if (axes.empty()) return {c.grad(), {}};
  return {reduce_sum(reshape(c.grad(), concat(split_sizes, 0)), {.axis = axes}), {}};
}

}  // namespace

Output tile(const Input& input, const ShapeInput& multiples, const NameOptions& options) {
  const CompositionScope scope(input, options.name, "Tile");
  const Output x = resolve("Tile", input);
  const Input& given = multiples.input();
  const Output times = given.is_output() ? given.resolve() : constant(given, {.name = "multiples"});
  return Graph::current()
      .add_node("Tile", {x, times}, {{"T", x.dtype()}}, {}, scope.result().name)
      ->output();
}

namespace ops {
extern const OpDef op_tile{
    .name = "Tile",
    .doc = "The tensor several times along each axis.",
    .inputs = "input: T, multiples: Tmultiples",
    .outputs = "output: T",
    .infer = infer_tile,
    .lower = lower_tile,
    .gradient = tile_gradient,
    .traits = {.moves_elements = true},
};
}  // namespace ops
}  // namespace systole
