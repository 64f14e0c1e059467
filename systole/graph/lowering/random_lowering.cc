#include "systole/graph/lowering/random_lowering.h"

#include "systole/graph/lowering/specialize.h"

namespace systole {
namespace {

// Per floating dtype: the word whose high bits fill the mantissa, how far they are shifted, and the
// bits of 1.0.
struct MantissaRow {
  DType dtype;
  DType word;
  DType pattern;  // of the dtype's own width
  uint64_t shift;
  uint64_t one;
};
constexpr MantissaRow kMantissas[] = {
    {DType::f64, DType::u64, DType::u64, 12, 0x3ff0000000000000U},
    {DType::f32, DType::u32, DType::u32, 9, 0x3f800000U},
    {DType::f16, DType::u32, DType::u16, 22, 0x3c00U},
    {DType::bf16, DType::u32, DType::u16, 25, 0x3f80U},
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

hlo::Value random_bits(LowerContext& c, DType dtype, const Shape& shape) {
  const hlo::Value state = c.lowering.random_state(c.node);
  hlo::Instruction* draw =
      c.b.op(hlo::Opcode::rng_bit_generator, {state},
             hlo::RngBitGeneratorAttrs{hlo::RngAlgorithm::philox}, {state.type(), {dtype, shape}});
  return draw->result(1);
}

hlo::Value uniform_from_mantissa(LowerContext& c, DType dtype, const Shape& shape) {
  const MantissaRow& row = mantissa_of(dtype);
  const hlo::Value words = random_bits(c, row.word, shape);
  const hlo::Value mantissa = c.b.convert(
      c.b.binary(hlo::Opcode::shift_right_logical, words, splat_bits(c.b, words, row.shift)),
      row.pattern);
  const hlo::Value bits =
      c.b.binary(hlo::Opcode::or_, mantissa, splat_bits(c.b, mantissa, row.one));
  const TensorType type{dtype, shape};
  const hlo::Value in_1_2 =
      c.b.op(hlo::Opcode::bitcast_convert, {bits}, hlo::NoAttrs{}, {type})->result();
  return c.b.subtract(in_1_2, c.b.splat(type, 1));
}

hlo::Value affine(hlo::Builder& b, hlo::Value x, double scale, double offset) {
  return b.add(b.multiply(x, b.splat_like(x, scale)), b.splat_like(x, offset));
}

}  // namespace systole
