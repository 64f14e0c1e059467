#include <cmath>
#include <numbers>

#include "systole/graph/api/random_ops.h"
#include "systole/graph/lowering/random_lowering.h"
#include "systole/graph/lowering/random_state.h"
#include "systole/graph/lowering/specialize.h"
#include "systole/stablehlo/chlo/chlo.h"

namespace systole {
namespace {

constexpr double kBound = 2;

// By inversion, of one word a number.
hlo::Value inverted(LowerContext& c, DType dtype, const Shape& shape) {
  hlo::Builder& b = c.b;
  // Midpoints of equal cells of (-1, 1): symmetric, and never at an end.
  const double cell = std::ldexp(1.0, dtype == DType::f64 ? -52 : -23);
  const hlo::Value uniform = affine(b, uniform_from_mantissa(c, dtype, shape), 2, cell - 1);
  const double inside = std::erf(kBound / std::numbers::sqrt2);
  const hlo::Value x = hlo::chlo::expand(b, "erf_inv", {affine(b, uniform, inside, 0)});
  const hlo::Value normal = affine(b, x, std::numbers::sqrt2, 0);
  const hlo::Value low = b.scalar(dtype, -kBound);
  const hlo::Value high = b.scalar(dtype, kBound);
  return b.op(hlo::Opcode::clamp, {low, normal, high})->result();
}

// The k-th of the candidates [groups, n] that `accepted` marks, as many as are `wanted` of each
// group: [groups, wanted].
hlo::Value first_accepted(hlo::Builder& b, hlo::Value candidates, hlo::Value accepted,
                          int64_t wanted) {
  const int64_t groups = candidates.shape()[0];
  const int64_t n = candidates.shape()[1];
  const TensorType square{DType::s32, {n, n}};
  const hlo::Value not_later =
      b.compare(b.iota(square, 0), b.iota(square, 1), hlo::ComparisonDirection::le);
  const hlo::Value rank =
      b.dot_general(b.convert(accepted, DType::f32), b.convert(not_later, DType::f32),
                    {.lhs_contracting_dimensions = {1}, .rhs_contracting_dimensions = {0}});
  std::vector<hlo::Value> columns;
  for (int64_t k = 1; k <= wanted; ++k) {
    const hlo::Value is_kth =
        b.compare(rank, b.splat_like(rank, static_cast<double>(k)), hlo::ComparisonDirection::eq);
    const hlo::Value chosen = b.select(b.binary(hlo::Opcode::and_, accepted, is_kth), candidates,
                                       b.splat_like(candidates, 0));
    columns.push_back(b.reshape(b.reduce(chosen, hlo::Opcode::add, {1}), {groups, 1}));
  }
  return b.concatenate(columns, 1);
}

// By rejection, as TensorFlow: four numbers (two of f64) are the first of their blocks that lie
// within the bounds. A number is within with probability 0.954, so 16 candidates are enough but for
// one group in 10^15.
hlo::Value rejected(LowerContext& c, DType dtype, const Shape& shape) {
  hlo::Builder& b = c.b;
  const bool wide = dtype == DType::f64;
  const int64_t count = shape.num_elements();
  const int64_t group_size = wide ? 2 : 4;
  const int64_t groups = (count + group_size - 1) / group_size;
  constexpr int64_t kCandidates = 16;
  hlo::Value words = grouped_random_words(c, {.groups = groups,
                                              .blocks_of_group = wide ? 8 : 4,
                                              .stride = group_size * 64,
                                              .blocks = reserved_blocks(count)});
  if (wide) {
    const TensorType type{DType::u64, {groups, kCandidates}};
    words = b.op(hlo::Opcode::bitcast_convert, {b.reshape(words, {groups, kCandidates, 2})},
                 hlo::NoAttrs{}, {type})
                ->result();
  }
  const hlo::Value pairs = b.reshape(words, {groups, kCandidates / 2, 2});
  const hlo::Value candidates =
      b.reshape(normal_from_words(b, pairs, dtype), {groups, kCandidates});
  const hlo::Value size = b.unary(hlo::Opcode::abs, candidates);
  const hlo::Value accepted =
      b.compare(size, b.splat_like(size, kBound), hlo::ComparisonDirection::lt);
  const hlo::Value chosen = first_accepted(b, candidates, accepted, group_size);
  const hlo::Value flat = b.reshape(chosen, {groups * group_size});
  return b.reshape(b.slice(flat, {0}, {count}), shape);
}

std::vector<hlo::Value> lower_truncated_normal(LowerContext& c) {
  const Shape shape = random_shape(c);
  const auto dtype = c.attr<DType>("dtype");
  const DType computing = computing_dtype(dtype);
  // Replicas take parts of one stream only where each number takes one word.
  const bool as_tensorflow = is_seeded(c.node) && c.lowering.num_replicas() == 1;
  const hlo::Value numbers =
      as_tensorflow ? rejected(c, computing, shape) : inverted(c, computing, shape);
  return {c.b.convert(numbers, dtype)};
}

}  // namespace

Output truncated_normal(const ShapeInput& shape, const TruncatedNormalOptions& options) {
  return random_with_moments(
      "TruncatedNormal", shape,
      {options.mean, options.stddev, options.dtype, options.seed, options.name});
}

namespace ops {
extern const OpDef op_truncated_normal{
    .name = "TruncatedNormal",
    .doc = "Normally distributed numbers of mean 0 within two standard deviations.",
    .inputs = "shape: T",
    .outputs = "output: dtype",
    .attrs = "dtype: type, seed: int = 0, seed2: int = 0, _stream: int",
    .infer = infer_random,
    .lower = lower_truncated_normal,
    .traits = {.blocks_gradient = true, .stateful = true, .draws_random = true},
};
}  // namespace ops
}  // namespace systole
