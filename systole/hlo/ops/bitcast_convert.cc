#include <cstring>

#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_bitcast_convert(const InferContext& context) {
  const TensorType& operand = context.operand(0);
  const TensorType& result = context.declared_type();
  if (is_complex(operand.dtype) != is_complex(result.dtype)) {  // C2
    throw invalid_argument(
        "bitcast_convert: element types, got {} to {}, expected both complex or none",
        operand.dtype, result.dtype);
  }
  const int from_bits = dtype_info(operand.dtype).bits;
  const int to_bits = dtype_info(result.dtype).bits;
  // C1: the narrower type has the wider type's shape and one more axis, the last.
  const TensorType& wide = from_bits >= to_bits ? operand : result;
  const TensorType& narrow = from_bits >= to_bits ? result : operand;
  const int ratio = std::max(from_bits, to_bits) / std::min(from_bits, to_bits);
  Dims expected = wide.shape.dims();
  if (ratio > 1) expected.push_back(ratio);
  if (narrow.shape.dims() != expected) {
    throw invalid_argument("bitcast_convert: types, got {} to {}, expected shape {} for {}",
                           operand, result, to_string(expected), narrow.dtype);
  }
  return {result};
}

uint64_t low_bits(uint64_t bits, int width) { return bits & (~uint64_t{0} >> (64 - width)); }

// Normalises the bits of an element below 8 bits to its byte in memory.
uint64_t canonical(DType dtype, uint64_t bits) {
  const int width = dtype_info(dtype).bits;
  bits = low_bits(bits, width);
  const bool is_signed = is_integer(dtype) && dtype_info(dtype).is_signed && width < 8;
  const uint64_t sign = uint64_t{1} << (width - 1);
  return is_signed && (bits & sign) != 0 ? (bits | ~low_bits(~uint64_t{0}, width)) & 0xff : bits;
}

// Little-endian: the first narrow element holds the lowest bits.
void repack(const Tensor& from, Tensor& to) {
  const int from_bits = dtype_info(from.dtype()).bits;
  const int to_bits = dtype_info(to.dtype()).bits;
  const int split = std::max(from_bits / to_bits, 1);   // results of one operand element
  const int joined = std::max(to_bits / from_bits, 1);  // operand elements of one result
  for (int64_t i = 0; i < to.num_elements(); ++i) {
    uint64_t bits = 0;
    for (int k = 0; k < joined; ++k) {
      const uint64_t part = element_bits(from, i / split * joined + k);
      bits |= low_bits(part, from_bits) << (k * from_bits);
    }
    set_element_bits(to, i, canonical(to.dtype(), bits >> (i % split * to_bits)));
  }
}

std::vector<Tensor> evaluate_bitcast_convert(const Instruction& instruction,
                                             std::span<const Tensor> operands, const Evaluator&) {
  const Tensor& operand = operands[0];
  Tensor result(instruction.type());
  // Elements below 8 bits occupy a whole byte in memory.
  const bool whole_bytes =
      operand.byte_size() == result.byte_size() && dtype_info(operand.dtype()).bits >= 8;
  if (whole_bytes) {
    std::memcpy(result.raw(), operand.raw(), static_cast<size_t>(result.byte_size()));
  } else {
    repack(operand, result);
  }
  return {result};
}

}  // namespace

extern const OpSemantics bitcast_convert_semantics{
    .infer = infer_bitcast_convert,
    .evaluate = evaluate_bitcast_convert,
    .format = AssemblyFormat{"$*", TypeForm::functional},
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>",
            .results = "tensor<4x$T>",
            .body = R"(%r = "stablehlo.bitcast_convert"(%a) : (tensor<4x$T>) -> tensor<4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::moves, .per_axis = true},
    .vectorize = replicas::vectorize_same_attrs,
    .shard = spmd::shard_bitcast_convert};

}  // namespace systole::hlo::ops
