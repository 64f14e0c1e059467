#include "systole/graph/core/constant_value.h"
#include "systole/graph/lowering/random_lowering.h"
#include "systole/graph/lowering/random_state.h"
#include "systole/graph/lowering/specialize.h"

namespace systole {
namespace {

bool is_empty_range(const Tensor& low, const Tensor& high) {
  if (dtype_info(low.dtype()).is_signed) {
    return low.cast(DType::s64).item<int64_t>() >= high.cast(DType::s64).item<int64_t>();
  }
  return low.cast(DType::u64).item<uint64_t>() >= high.cast(DType::u64).item<uint64_t>();
}

std::vector<TensorType> infer_random_uniform_int(const InferContext& c) {
  const DType dtype = c.attr<DType>("Tout");
  if (!is_integer(dtype)) throw invalid_argument("dtype, got {}, expected an integer", dtype);
  const std::optional<Shape> shape = c.input_as_shape(0);
  if (!shape) {
    throw invalid_argument("shape, got {}, expected a known number of dimensions", c.input(0));
  }
  const TensorType scalar{dtype, {}};
  if (c.input(1) != scalar || c.input(2) != scalar) {
    throw invalid_argument("minval and maxval, got {} and {}, expected {}", c.input(1), c.input(2),
                           scalar);
  }
  const std::optional<Tensor> low = c.constant_input(1);
  const std::optional<Tensor> high = c.constant_input(2);
  if (low && high && shape->is_static() && shape->num_elements() > 0) {
    if (is_empty_range(*low, *high)) {
      throw invalid_argument("minval and maxval, got {} and {}, expected minval < maxval",
                             low->to_string(), high->to_string());
    }
  }
  return {{dtype, *shape}};
}

// bits * range / 2^64 for ranges up to 2^32: the high word of the product by halves.
hlo::Value scaled_integer(hlo::Builder& b, hlo::Value bits, hlo::Value range) {
  const auto shift = [&](hlo::Value v) {
    return b.binary(hlo::Opcode::shift_right_logical, v, b.splat_like(v, 32));
  };
  const hlo::Value low_mask =
      b.broadcast(b.constant(Tensor::scalar(uint64_t{0xffffffffU})), bits.shape());
  const hlo::Value low = b.multiply(b.binary(hlo::Opcode::and_, bits, low_mask), range);
  return shift(b.add(b.multiply(shift(bits), range), shift(low)));
}

std::vector<hlo::Value> lower_random_uniform_int(LowerContext& c) {
  hlo::Builder& b = c.b;
  const Shape shape = random_shape(c);
  const DType dtype = c.attr<DType>("Tout");
  // With seeds, TensorFlow's numbers: the remainder of one word, of 32 bits for types that have no
  // more. That is biased by range / 2^32; without seeds the high word of a product is not.
  const bool narrow = dtype_info(dtype).bits <= 32;
  const bool seeded = is_seeded(c.node);
  const uint64_t blocks = reserved_blocks(shape.num_elements());
  const hlo::Value bits = b.convert(
      random_bits(c, narrow && seeded ? DType::u32 : DType::u64, shape, blocks), DType::u64);
  // Two's complement: the difference of the bounds is right modulo 2^64 for every integer dtype.
  const hlo::Value low = b.convert(c.input(1), DType::u64);
  const hlo::Value range = b.subtract(b.convert(c.input(2), DType::u64), low);
  const hlo::Value empty = b.compare(c.input(2), c.input(1), hlo::ComparisonDirection::le);
  const bool constant = constant_value(c.node.input(1)) && constant_value(c.node.input(2));
  if (!constant && shape.num_elements() > 0) {
    c.lowering.check(empty, Code::invalid_argument,
                     fmt::format("{}: minval and maxval, got minval >= maxval, expected "
                                 "minval < maxval",
                                 c.node.describe()));
  }
  const hlo::Value range_or_1 = b.select(empty, b.constant(Tensor::scalar(uint64_t{1})), range);
  const hlo::Value ranges = b.broadcast(range_or_1, shape);
  const hlo::Value offset = narrow && !seeded ? scaled_integer(b, bits, ranges)
                                              : b.binary(hlo::Opcode::remainder, bits, ranges);
  return {b.convert(b.add(offset, b.broadcast(low, shape)), dtype)};
}

}  // namespace

namespace ops {
extern const OpDef op_random_uniform_int{
    .name = "RandomUniformInt",
    .doc = "Integers uniform in [minval, maxval).",
    .inputs = "shape: T, minval: Tout, maxval: Tout",
    .outputs = "output: Tout",
    .attrs = "seed: int = 0, seed2: int = 0, _stream: int",
    .infer = infer_random_uniform_int,
    .lower = lower_random_uniform_int,
    .traits = {.blocks_gradient = true, .stateful = true, .draws_random = true},
};
}  // namespace ops
}  // namespace systole
