// Conversions between element types.
#include "systole/hlo/analysis/match.h"
#include "systole/hlo/passes/algebraic_simplifier/rules.h"

namespace systole::hlo {
namespace {

// Every integer with at most this many bits (and a sign) is a value of the dtype.
int integer_bits(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  if (dtype == DType::pred) return 1;
  if (info.integer) return info.is_signed ? info.bits - 1 : info.bits;
  if (is_small_float(dtype)) return 0;
  constexpr int kF64 = 53;
  constexpr int kF32 = 24;
  constexpr int kF16 = 11;
  constexpr int kBf16 = 8;
  if (dtype == DType::f64) return kF64;
  if (dtype == DType::f32) return kF32;
  return dtype == DType::f16 ? kF16 : kBf16;
}

bool is_real(DType dtype) { return is_numeric(dtype) && !is_complex(dtype); }

// Returns whether every value of `from` is a value of `to`.
bool lossless(DType from, DType to) {
  if (!is_real(from) || !is_real(to)) return false;
  if (from == to) return true;
  if (to == DType::pred) return false;
  if (is_floating(from)) {
    if (from == DType::f8e8m0fnu && to == DType::f16) return false;
    // Neither of f16 and bf16 contains the other.
    return is_floating(to) && size_of(to) > size_of(from);
  }
  const bool negative = is_integer(from) && dtype_info(from).is_signed;
  const bool fits_sign = !negative || is_floating(to) || dtype_info(to).is_signed;
  return fits_sign && integer_bits(to) >= integer_bits(from);
}

// Returns whether a -> b -> c is a -> c. Conversion depends only on the value, except that
// out-of-range values of an integer c saturate from a float and wrap from an integer.
bool middle_is_redundant(DType a, DType b, DType c) {
  if (!lossless(a, b) || !is_real(c)) return false;
  return !is_integer(c) || is_floating(a) || !is_floating(b) || lossless(a, c);
}

Replacement convert_to_same(Instruction& op, Builder&) {
  if (op.operand(0).dtype() != op.dtype()) return {};
  return {op.operand(0)};
}

Replacement convert_of_convert(Instruction& op, Builder& builder) {
  const Instruction* inner = match(op.operand(0), Opcode::convert);
  if (inner == nullptr) return {};
  const Value x = inner->operand(0);
  if (!middle_is_redundant(x.dtype(), inner->dtype(), op.dtype())) return {};
  return {builder.convert(x, op.dtype())};
}

// convert(iota) -> iota, where both types hold every index.
Replacement convert_of_iota(Instruction& op, Builder& builder) {
  const Instruction* iota = match(op.operand(0), Opcode::iota);
  if (iota == nullptr || !is_real(op.dtype()) || op.dtype() == DType::pred) return {};
  const int64_t dimension = iota->attrs<IotaAttrs>().iota_dimension;
  const int64_t size = iota->shape()[static_cast<int>(dimension)];
  const int bits = std::min(integer_bits(op.dtype()), integer_bits(iota->dtype()));
  if (bits < 62 && size > int64_t{1} << bits) return {};
  return {builder.iota(op.type(), dimension)};
}

constexpr Rule kConvertRulesRules[] = {
    {"convert_to_same", Opcode::convert, convert_to_same},
    {"convert_of_convert", Opcode::convert, convert_of_convert},
    {"convert_of_iota", Opcode::convert, convert_of_iota},
};

}  // namespace

std::span<const Rule> convert_rules() { return kConvertRulesRules; }

}  // namespace systole::hlo
