#include <limits>

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

// The sums of x[row, 0..class] along the classes.
hlo::Value running_sums(hlo::Builder& b, hlo::Value x) {
  const int64_t classes = x.shape()[1];
  hlo::WindowAttrs window;
  window.window_dimensions = {1, classes};
  window.window_strides = {1, 1};
  window.base_dilations = {1, 1};
  window.window_dilations = {1, 1};
  window.padding = {{0, 0}, {classes - 1, 0}};
  return b
      .op_with_regions(hlo::Opcode::reduce_window, {x, b.scalar(x.dtype(), 0)}, window,
                       [&](hlo::Instruction& i) {
                         hlo::fill_reducer(i.add_region(), hlo::Opcode::add, x.dtype());
                       })
      ->result();
}

// As TensorFlow's CPU kernel: the first class whose running sum of probabilities is above a uniform
// number times their sum, in f64. Logits that are not finite have probability 0.
std::vector<hlo::Value> lower_multinomial(LowerContext& c) {
  hlo::Builder& b = c.b;
  const hlo::Value logits = b.convert(c.input(0), DType::f64);
  const int64_t batch = logits.shape()[0];
  const int64_t classes = logits.shape()[1];
  const int64_t n = c.constant_ints(1)[0];
  const DType index_dtype = c.attr<DType>("output_dtype");
  if (batch == 0 || n == 0 || classes == 0) return {b.splat({index_dtype, {batch, n}}, 0)};
  const Shape& rows = logits.shape();
  const hlo::Value finite = b.unary(hlo::Opcode::is_finite, logits);
  const hlo::Value lowest = b.splat_like(logits, std::numeric_limits<double>::lowest());
  const hlo::Value largest = b.reduce(b.select(finite, logits, lowest), hlo::Opcode::maximum, {1});
  const hlo::Value shifted = b.subtract(logits, b.broadcast_in_dim(largest, rows, {0}));
  const hlo::Value weights =
      b.select(finite, b.unary(hlo::Opcode::exponential, shifted), b.splat_like(logits, 0));
  const hlo::Value sums = running_sums(b, weights);
  const hlo::Value total = b.slice(sums, {0, classes - 1}, {batch, classes});

  const auto reserved = reserved_blocks(batch * ((n + 3) / 4 * 4) * 2);
  const hlo::Value uniform =
      uniform_from_words(b, random_bits(c, DType::u64, {batch, n}, reserved), DType::f64);
  const hlo::Value wanted = b.multiply(uniform, b.broadcast(total, {batch, n}));
  const Shape all = {batch, n, classes};
  const hlo::Value below =
      b.compare(b.broadcast_in_dim(sums, all, {0, 2}), b.broadcast_in_dim(wanted, all, {0, 1}),
                hlo::ComparisonDirection::le);
  const hlo::Value index = b.reduce(b.convert(below, index_dtype), hlo::Opcode::add, {2});
  // The product may be rounded up to the sum itself.
  return {b.minimum(index, b.splat_like(index, static_cast<double>(classes - 1)))};
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
