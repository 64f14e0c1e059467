#include "systole/graph/lowering/random_lowering.h"

#include <array>
#include <numbers>

#include "systole/graph/lowering/specialize.h"

namespace systole {
namespace {

// Per floating dtype: the word whose low bits fill the mantissa, how many, and the bits of 1.0.
struct MantissaRow {
  DType dtype;
  DType word;
  DType pattern;  // of the dtype's own width
  int bits;
  uint64_t one;
};
constexpr MantissaRow kMantissas[] = {
    {DType::f64, DType::u64, DType::u64, 52, 0x3ff0000000000000U},
    {DType::f32, DType::u32, DType::u32, 23, 0x3f800000U},
    {DType::f16, DType::u32, DType::u16, 10, 0x3c00U},
    {DType::bf16, DType::u32, DType::u16, 7, 0x3f80U},
};

const MantissaRow& mantissa_of(DType dtype) {
  for (const MantissaRow& row : kMantissas) {
    if (row.dtype == dtype) return row;
  }
  throw internal_error("random: dtype, got {}, expected a floating one", dtype);
}

hlo::Value splat_bits(hlo::Builder& b, hlo::Value like, uint64_t bits) {
  return b.broadcast(b.constant(Tensor::scalar(bits).cast(like.dtype())), like.shape());
}

}  // namespace

std::vector<TensorType> infer_random(const InferContext& c) {
  const DType dtype = c.attr<DType>("dtype");
  if (!is_floating(dtype)) {
    throw invalid_argument("dtype, got {}, expected a floating one", dtype);
  }
  const std::optional<Shape> shape = c.input_as_shape(0);
  if (!shape) {
    throw invalid_argument("shape, got {}, expected a known number of dimensions", c.input(0));
  }
  return {{dtype, *shape}};
}

Shape random_shape(LowerContext& c) {
  const std::vector<int64_t> sizes = c.constant_ints(0);
  return Shape(std::span<const int64_t>(sizes));
}

DType computing_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

hlo::Value random_bits(LowerContext& c, DType dtype, const Shape& shape, uint64_t blocks) {
  const hlo::Value state = c.lowering.random_state(c.node, blocks);
  hlo::Instruction* draw =
      c.b.op(hlo::Opcode::rng_bit_generator, {state},
             hlo::RngBitGeneratorAttrs{hlo::RngAlgorithm::philox}, {state.type(), {dtype, shape}});
  return draw->result(1);
}

namespace {

hlo::Value low_half(hlo::Builder& b, hlo::Value x) { return b.convert(x, DType::u32); }

hlo::Value high_half(hlo::Builder& b, hlo::Value x) {
  return low_half(b, b.binary(hlo::Opcode::shift_right_logical, x, splat_bits(b, x, 32)));
}

// Philox4x32-10 of counters u64 (low half, high half) of one shape; `key`: u64 of that shape. The
// four words of each. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
std::array<hlo::Value, 4> philox(hlo::Builder& b, hlo::Value low, hlo::Value high, hlo::Value key) {
  std::array<hlo::Value, 4> x = {low_half(b, low), high_half(b, low), low_half(b, high),
                                 high_half(b, high)};
  hlo::Value k0 = low_half(b, key);
  hlo::Value k1 = high_half(b, key);
  const auto product = [&](hlo::Value word, uint64_t factor) {
    const hlo::Value wide = b.convert(word, DType::u64);
    return b.multiply(wide, splat_bits(b, wide, factor));
  };
  const auto mixed = [&](hlo::Value p, hlo::Value word, hlo::Value k) {
    return b.binary(hlo::Opcode::xor_, b.binary(hlo::Opcode::xor_, high_half(b, p), word), k);
  };
  for (int round = 0; round < 10; ++round) {
    const hlo::Value p0 = product(x[0], 0xD2511F53U);
    const hlo::Value p1 = product(x[2], 0xCD9E8D57U);
    x = {mixed(p1, x[1], k0), low_half(b, p1), mixed(p0, x[3], k1), low_half(b, p0)};
    k0 = b.add(k0, splat_bits(b, k0, 0x9E3779B9U));
    k1 = b.add(k1, splat_bits(b, k1, 0xBB67AE85U));
  }
  return x;
}

}  // namespace

hlo::Value grouped_random_words(LowerContext& c, const GroupedWords& wanted) {
  hlo::Builder& b = c.b;
  const hlo::Value state = c.lowering.random_state(c.node, wanted.blocks);
  const Shape shape = {wanted.groups, wanted.blocks_of_group};
  const TensorType type{DType::u64, shape};
  const auto part = [&](int64_t i) {
    return b.broadcast(b.reshape(b.slice(state, {i}, {i + 1}), {}), shape);
  };
  const hlo::Value group = b.iota(type, 0);
  const hlo::Value first =
      b.multiply(group, splat_bits(b, group, static_cast<uint64_t>(wanted.stride)));
  const hlo::Value low = b.add(part(1), b.add(first, b.iota(type, 1)));
  std::vector<hlo::Value> words;
  for (const hlo::Value& word : philox(b, low, part(2), part(0))) {
    words.push_back(b.reshape(word, {wanted.groups, wanted.blocks_of_group, 1}));
  }
  return b.reshape(b.concatenate(words, 2), {wanted.groups, wanted.blocks_of_group * 4});
}

DType word_of(DType dtype) { return mantissa_of(dtype).word; }

hlo::Value uniform_from_words(hlo::Builder& b, hlo::Value words, DType dtype) {
  const MantissaRow& row = mantissa_of(dtype);
  if (row.word == DType::u64) {  // the first half of a word is the upper one
    const hlo::Value half = splat_bits(b, words, 32);
    words = b.binary(hlo::Opcode::or_, b.binary(hlo::Opcode::shift_left, words, half),
                     b.binary(hlo::Opcode::shift_right_logical, words, half));
  }
  const uint64_t mask = (uint64_t{1} << static_cast<unsigned>(row.bits)) - 1;
  const hlo::Value mantissa =
      b.convert(b.binary(hlo::Opcode::and_, words, splat_bits(b, words, mask)), row.pattern);
  const hlo::Value bits = b.binary(hlo::Opcode::or_, mantissa, splat_bits(b, mantissa, row.one));
  const TensorType type{dtype, words.shape()};
  const hlo::Value in_1_2 =
      b.op(hlo::Opcode::bitcast_convert, {bits}, hlo::NoAttrs{}, {type})->result();
  return b.subtract(in_1_2, b.splat(type, 1));
}

hlo::Value uniform_from_mantissa(LowerContext& c, DType dtype, const Shape& shape) {
  const uint64_t blocks = reserved_blocks(shape.num_elements());
  return uniform_from_words(c.b, random_bits(c, word_of(dtype), shape, blocks), dtype);
}

hlo::Value normal_from_words(hlo::Builder& b, hlo::Value words, DType dtype) {
  constexpr double kSmallest = 1e-7;  // TensorFlow's: the logarithm stays finite
  const hlo::Value uniform = uniform_from_words(b, words, dtype);
  const int last = words.shape().rank() - 1;
  const auto of_pair = [&](int64_t i) {
    Dims start(static_cast<size_t>(last) + 1, 0);
    Dims limit = words.shape().dims();
    start.back() = i;
    limit.back() = i + 1;
    return b.slice(uniform, start, limit);
  };
  const hlo::Value first = of_pair(0);
  const hlo::Value above_zero = b.maximum(first, b.splat_like(first, kSmallest));
  const hlo::Value squared = affine(b, b.unary(hlo::Opcode::log, above_zero), -2, 0);
  const hlo::Value radius = b.unary(hlo::Opcode::sqrt, squared);
  const hlo::Value turn = b.convert(of_pair(1), DType::f64);
  const hlo::Value angle = b.convert(affine(b, turn, 2 * std::numbers::pi, 0), dtype);
  const hlo::Value both[] = {b.multiply(b.unary(hlo::Opcode::sine, angle), radius),
                             b.multiply(b.unary(hlo::Opcode::cosine, angle), radius)};
  return b.concatenate(both, last);
}

hlo::Value affine(hlo::Builder& b, hlo::Value x, double scale, double offset) {
  return b.add(b.multiply(x, b.splat_like(x, scale)), b.splat_like(x, offset));
}

}  // namespace systole
