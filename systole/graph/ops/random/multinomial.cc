#include "systole/graph/api/random_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/lowering/random_lowering.h"
#include "systole/graph/lowering/random_state.h"

namespace systole {
namespace {

std::vector<TensorType> infer_multinomial(const InferContext& c) {
  const TensorType& logits = c.input(0);
  if (!is_floating(logits.dtype) || logits.shape.rank() != 2) {
    throw invalid_argument("logits, got {}, expected a floating matrix [batch, classes]", logits);
  }
  const TensorType& samples = c.input(1);
  if (!is_integer(samples.dtype) || samples.shape.rank() != 0) {
    throw invalid_argument("num_samples, got {}, expected an integer scalar", samples);
  }
  const DType output_dtype = c.attr<DType>("output_dtype");
  if (output_dtype != DType::s32 && output_dtype != DType::s64) {
    throw invalid_argument("output_dtype, got {}, expected s32 or s64", output_dtype);
  }
  const std::optional<Tensor> known = c.constant_input(1);
  const int64_t n = known ? known->cast(DType::s64).item<int64_t>() : kUnknown;
  if (known && n < 0) throw invalid_argument("num_samples, got {}, expected at least 0", n);
  return {{output_dtype, {logits.shape[0], n}}};
}

// -log(-log(u)): with u from 32 bits kept as a float, -log1p(-u) has all its precision where it is
// small, which decides the largest values.
hlo::Value gumbel(LowerContext& c, const TensorType& type) {
  hlo::Builder& b = c.b;
  const bool wide = type.dtype == DType::f64;
  const hlo::Value words = random_bits(c, wide ? DType::u64 : DType::u32, type.shape);
  const double ulp = std::ldexp(1.0, wide ? -64 : -32);
  hlo::Value u = affine(b, b.convert(words, type.dtype), ulp, ulp / 2);
  u = b.minimum(u, b.splat_like(u, 1 - std::ldexp(1.0, wide ? -53 : -24)));
  const hlo::Value exponential = b.negate(b.unary(hlo::Opcode::log_plus_one, b.negate(u)));
  return b.negate(b.unary(hlo::Opcode::log, exponential));
}

// The first class of the largest logit + noise. Source: Maddison et al., "A* sampling", NIPS 2014,
// section 2.
std::vector<hlo::Value> lower_multinomial(LowerContext& c) {
  hlo::Builder& b = c.b;
  const DType dtype = computing_dtype(c.input(0).dtype());
  const hlo::Value logits = b.convert(c.input(0), dtype);
  const int64_t n = c.constant_ints(1)[0];
  const Shape shape = {logits.shape()[0], n, logits.shape()[1]};
  const hlo::Value noisy =
      b.add(b.broadcast_in_dim(logits, shape, {0, 2}), gumbel(c, {dtype, shape}));
  const hlo::Value largest =
      b.broadcast_in_dim(b.reduce(noisy, hlo::Opcode::maximum, {2}), shape, {0, 1});
  const hlo::Value is_largest = b.compare(noisy, largest, hlo::ComparisonDirection::eq);
  const TensorType index_type{c.attr<DType>("output_dtype"), shape};
  const hlo::Value last = b.splat(index_type, static_cast<double>(shape[2] - 1));
  const hlo::Value index = b.select(is_largest, b.iota(index_type, 2), last);
  return {b.reduce(index, hlo::Opcode::minimum, {2})};
}

}  // namespace

Output multinomial(const Input& logits, const Input& num_samples,
                   const MultinomialOptions& options) {
  const Output scores = resolve("Multinomial", logits);
  const Output count = resolve("Multinomial", num_samples, DType::s32);
  AttrMap attrs = random_attrs(options.seed);
  attrs.emplace("T", scores.dtype());
  attrs.emplace("output_dtype", options.output_dtype);
  return Graph::current()
      .add_node("Multinomial", {scores, count}, std::move(attrs), logits.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_multinomial{
    .name = "Multinomial",
    .doc = "Classes drawn by their unnormalised log probabilities.",
    .inputs = "logits: T, num_samples: int32",
    .outputs = "output: output_dtype",
    .attrs = "output_dtype: type = int64, seed: int = 0, seed2: int = 0, _stream: int",
    .infer = infer_multinomial,
    .lower = lower_multinomial,
    .traits = {.blocks_gradient = true, .stateful = true, .draws_random = true},
};
}  // namespace ops
}  // namespace systole
