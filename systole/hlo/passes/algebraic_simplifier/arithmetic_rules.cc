// Signs, powers and divisors.
#include <bit>
#include <cmath>

#include "systole/hlo/analysis/match.h"
#include "systole/hlo/passes/algebraic_simplifier/rules.h"

namespace systole::hlo {
namespace {

bool is_signed_number(DType dtype) {
  return is_floating(dtype) || (is_integer(dtype) && dtype_info(dtype).is_signed);
}

// Returns the x of -x. Negated constants are excluded: they are folded.
Value negated_operand(Value value) {
  const Instruction* negate = match(value, Opcode::negate);
  if (negate == nullptr || is_known(negate->operand(0))) return {};
  return negate->operand(0);
}

// x * -1 -> -x. A product's sign is the exclusive or of the factors' signs, so this is exact at
// zeros too.
Replacement multiply_by_minus_one(Instruction& op, Builder& builder) {
  if (!is_signed_number(op.dtype()) || !is_splat(op.operand(1), -1)) return {};
  return {builder.negate(op.operand(0))};
}

// x / -1 -> -x
Replacement divide_by_minus_one(Instruction& op, Builder& builder) {
  return multiply_by_minus_one(op, builder);
}

// x + -y -> x - y, which is how IEEE 754 defines subtraction.
Replacement add_negated(Instruction& op, Builder& builder) {
  if (const Value y = negated_operand(op.operand(1))) return {builder.subtract(op.operand(0), y)};
  if (const Value x = negated_operand(op.operand(0))) return {builder.subtract(op.operand(1), x)};
  return {};
}

// x - -y -> x + y
Replacement subtract_negated(Instruction& op, Builder& builder) {
  if (const Value y = negated_operand(op.operand(1))) return {builder.add(op.operand(0), y)};
  return {};
}

// -0.0 - x -> -x, and 0 - x -> -x for integers. 0.0 - x is not -x: it gives 0.0 at x == 0.0.
Replacement subtract_from_zero(Instruction& op, Builder& builder) {
  const bool zero =
      is_floating(op.dtype()) ? is_splat(op.operand(0), -0.0) : is_splat(op.operand(0), 0);
  return zero ? Replacement{builder.negate(op.operand(1))} : Replacement{};
}

// -x * -y -> x * y, -x / -y -> x / y
Replacement two_negated_factors(Instruction& op, Builder& builder) {
  const Value x = negated_operand(op.operand(0));
  const Value y = negated_operand(op.operand(1));
  // -(lowest) wraps to itself, so a quotient of integers may change its sign.
  const bool exact = is_floating(op.dtype()) || (op.is(Opcode::multiply) && is_integer(op.dtype()));
  if (!x || !y || !exact) return {};
  return {builder.binary(op.opcode(), x, y)};
}

// -x * c -> x * -c, -x / c -> x / -c: the sign goes into the constant.
Replacement negated_factor_of_constant(Instruction& op, Builder& builder) {
  const Value x = negated_operand(op.operand(0));
  const bool exact = is_floating(op.dtype()) || (op.is(Opcode::multiply) && is_integer(op.dtype()));
  if (!x || !exact || !is_known(op.operand(1))) return {};
  return {builder.binary(op.opcode(), x, builder.negate(op.operand(1)))};
}

// |-x| -> |x|
Replacement abs_of_negated(Instruction& op, Builder& builder) {
  const Value x = negated_operand(op.operand(0));
  if (!x || is_complex(x.dtype())) return {};
  return {builder.unary(Opcode::abs, x)};
}

// The exponent range of a floating dtype: 2^e is normal for e in [lowest, highest].
struct Exponents {
  int lowest;
  int highest;
};
Exponents normal_exponents(DType dtype) {
  if (dtype == DType::f16) return {-14, 15};
  if (dtype == DType::f64) return {-1022, 1023};
  return {-126, 127};
}

// x / 2^k -> x * 2^-k: the exact quotient and product are one number, so they round alike. 2^-k
// must be normal, so that no backend flushes it to zero.
Replacement divide_by_power_of_two(Instruction& op, Builder& builder) {
  if (!is_floating(op.dtype())) return {};
  const Tensor* splat = splat_of(op.operand(1));
  if (splat == nullptr) return {};
  const double divisor = splat->as_double(0);
  int exponent = 0;
  if (!std::isfinite(divisor) || std::abs(std::frexp(divisor, &exponent)) != 0.5) return {};
  const int k = exponent - 1;
  const auto [lowest, highest] = normal_exponents(op.dtype());
  if (k < lowest || k > highest || -k < lowest || -k > highest) return {};
  return {builder.multiply(op.operand(0), builder.splat(op.type(), 1 / divisor))};
}

// x ** 2 -> x * x. Exact for integers, bf16 and f16. For f32 and f64 the product is the correctly
// rounded square; a library's power may be off by one unit in the last place.
Replacement square(Instruction& op, Builder& builder) {
  if (is_complex(op.dtype()) || !is_splat(op.operand(1), 2)) return {};
  return {builder.multiply(op.operand(0), op.operand(0))};
}

// x ** 0 -> 1, for NaN too (IEEE 754, 9.2.1).
Replacement power_of_zero(Instruction& op, Builder& builder) {
  if (is_complex(op.dtype())) return {};
  if (!is_splat(op.operand(1), 0.0) && !is_splat(op.operand(1), -0.0)) return {};
  return {builder.splat(op.type(), 1)};
}

constexpr Rule kArithmeticRulesRules[] = {
    {"multiply_by_minus_one", Opcode::multiply, multiply_by_minus_one},
    {"divide_by_minus_one", Opcode::divide, divide_by_minus_one},
    {"add_negated", Opcode::add, add_negated},
    {"subtract_negated", Opcode::subtract, subtract_negated},
    {"subtract_from_zero", Opcode::subtract, subtract_from_zero},
    {"two_negated_factors", Opcode::multiply, two_negated_factors},
    {"two_negated_terms", Opcode::divide, two_negated_factors},
    {"negated_factor_of_constant", Opcode::multiply, negated_factor_of_constant},
    {"negated_dividend_of_constant", Opcode::divide, negated_factor_of_constant},
    {"abs_of_negated", Opcode::abs, abs_of_negated},
    {"divide_by_power_of_two", Opcode::divide, divide_by_power_of_two},
    {"square", Opcode::power, square},
    {"power_of_zero", Opcode::power, power_of_zero},
};

}  // namespace

std::span<const Rule> arithmetic_rules() { return kArithmeticRulesRules; }

}  // namespace systole::hlo
