// The notation of the formulas: a value under construction, with operators.
#pragma once

#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "systole/stablehlo/chlo/chlo.h"

namespace systole::hlo::chlo {

// A value and its builder. Operators work elementwise on two values of one type, or on a value and
// a constant. Copying builds nothing.
class Expr {
 public:
  Expr(Builder& b, Value value) : b_(&b), value_(value) {}

  Builder& builder() const { return *b_; }
  Value value() const { return value_; }
  DType dtype() const { return value_.dtype(); }
  bool is_f64() const { return dtype() == DType::f64; }

  Expr unary(Opcode opcode) const { return {*b_, b_->unary(opcode, value_)}; }
  Expr binary(Opcode opcode, Expr y) const { return {*b_, b_->binary(opcode, value_, y.value_)}; }
  Expr convert(DType dtype) const { return {*b_, b_->convert(value_, dtype)}; }
  Expr compare(Expr y, ComparisonDirection direction) const {
    return {*b_, b_->compare(value_, y.value_, direction)};
  }
  // A constant of this value's type, rounded to it.
  Expr constant(double x) const { return {*b_, b_->splat_like(value_, x)}; }

 private:
  Builder* b_;
  Value value_;
};

inline Expr operator+(Expr x, Expr y) { return x.binary(Opcode::add, y); }
inline Expr operator-(Expr x, Expr y) { return x.binary(Opcode::subtract, y); }
inline Expr operator*(Expr x, Expr y) { return x.binary(Opcode::multiply, y); }
inline Expr operator/(Expr x, Expr y) { return x.binary(Opcode::divide, y); }
inline Expr operator+(Expr x, double y) { return x + x.constant(y); }
inline Expr operator-(Expr x, double y) { return x - x.constant(y); }
inline Expr operator*(Expr x, double y) { return x * x.constant(y); }
inline Expr operator/(Expr x, double y) { return x / x.constant(y); }
inline Expr operator+(double x, Expr y) { return y.constant(x) + y; }
inline Expr operator-(double x, Expr y) { return y.constant(x) - y; }
inline Expr operator*(double x, Expr y) { return y.constant(x) * y; }
inline Expr operator/(double x, Expr y) { return y.constant(x) / y; }
inline Expr operator-(Expr x) { return x.unary(Opcode::negate); }

inline Expr operator<(Expr x, Expr y) { return x.compare(y, ComparisonDirection::lt); }
inline Expr operator<=(Expr x, Expr y) { return x.compare(y, ComparisonDirection::le); }
inline Expr operator>(Expr x, Expr y) { return x.compare(y, ComparisonDirection::gt); }
inline Expr operator>=(Expr x, Expr y) { return x.compare(y, ComparisonDirection::ge); }
inline Expr operator==(Expr x, Expr y) { return x.compare(y, ComparisonDirection::eq); }
inline Expr operator!=(Expr x, Expr y) { return x.compare(y, ComparisonDirection::ne); }
inline Expr operator<(Expr x, double y) { return x < x.constant(y); }
inline Expr operator<=(Expr x, double y) { return x <= x.constant(y); }
inline Expr operator>(Expr x, double y) { return x > x.constant(y); }
inline Expr operator>=(Expr x, double y) { return x >= x.constant(y); }
inline Expr operator==(Expr x, double y) { return x == x.constant(y); }
inline Expr operator!=(Expr x, double y) { return x != x.constant(y); }
// On conditions.
inline Expr operator&(Expr x, Expr y) { return x.binary(Opcode::and_, y); }
inline Expr operator|(Expr x, Expr y) { return x.binary(Opcode::or_, y); }
inline Expr operator!(Expr x) { return x.unary(Opcode::not_); }

inline Expr abs(Expr x) { return x.unary(Opcode::abs); }
inline Expr sqrt(Expr x) { return x.unary(Opcode::sqrt); }
inline Expr exp(Expr x) { return x.unary(Opcode::exponential); }
inline Expr expm1(Expr x) { return x.unary(Opcode::exponential_minus_one); }
inline Expr log(Expr x) { return x.unary(Opcode::log); }
inline Expr log1p(Expr x) { return x.unary(Opcode::log_plus_one); }
inline Expr sin(Expr x) { return x.unary(Opcode::sine); }
inline Expr cos(Expr x) { return x.unary(Opcode::cosine); }
inline Expr tan(Expr x) { return x.unary(Opcode::tan); }
inline Expr floor(Expr x) { return x.unary(Opcode::floor); }
inline Expr round(Expr x) { return x.unary(Opcode::round_nearest_even); }
inline Expr real(Expr z) { return z.unary(Opcode::real); }
inline Expr imag(Expr z) { return z.unary(Opcode::imag); }
inline Expr complex(Expr x, Expr y) { return x.binary(Opcode::complex, y); }
inline Expr atan2(Expr y, Expr x) { return y.binary(Opcode::atan2, x); }
inline Expr pow(Expr x, Expr y) { return x.binary(Opcode::power, y); }
inline Expr max(Expr x, Expr y) { return x.binary(Opcode::maximum, y); }
inline Expr min(Expr x, Expr y) { return x.binary(Opcode::minimum, y); }
inline Expr max(Expr x, double y) { return max(x, x.constant(y)); }
inline Expr min(Expr x, double y) { return min(x, x.constant(y)); }

// condition ? x : y, elementwise.
inline Expr where(Expr condition, Expr x, Expr y) {
  Builder& b = x.builder();
  return {b, b.select(condition.value(), x.value(), y.value())};
}
inline Expr where(Expr condition, double x, Expr y) { return where(condition, y.constant(x), y); }
inline Expr where(Expr condition, Expr x, double y) { return where(condition, x, x.constant(y)); }

// The bits of floating-point elements as signed integers of the same width.
Expr bits_of(Expr x);
// The inverse of bits_of; `dtype` is as wide as the integers.
Expr from_bits(Expr bits, DType dtype);
// Whether the sign bit is set, also of zeros and NaNs.
inline Expr is_negative(Expr x) { return bits_of(x) < 0.0; }
// |x| with the sign of `sign`.
Expr copy_sign(Expr x, Expr sign);

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// By Horner's rule; highest power first.
Expr polynomial(Expr x, std::span<const double> coefficients);
// The same with one list of coefficients per format.
inline Expr polynomial(Expr x, std::span<const double> f32, std::span<const double> f64) {
  return polynomial(x, x.is_f64() ? f64 : f32);
}

// A number as the sum of two of a format, with about twice its precision.
struct SplitConstant {
  double high;  // in f64
  double low;
};
inline constexpr SplitConstant kHalfPi{1.5707963267948966, 6.123233995736766e-17};
struct TwoPart {
  Expr high;
  Expr low;
};
// The constant in the format of x.
TwoPart split(Expr x, SplitConstant constant);
// x rounded to half of its format's bits, so that the square of the result is exact.
Expr high_half(Expr x);

// x = 2^power * rest with rest in [sqrt(1/2), sqrt(2)]. REQUIRES: x is positive and normal.
struct SplitExponent {
  Expr power;
  Expr rest;
};
SplitExponent split_exponent(Expr x);

// 2^50: adding 1 does not change it, and its square is finite, in f32 and in f64.
inline constexpr double kHuge = 1125899906842624.0;

// An op as one formula per family of element types; null if the op is not defined for it. f16 and
// bf16 are computed in f32 and rounded once.
struct UnaryFormula {
  std::string_view name;  // "erf"
  Expr (*floating)(Expr) = nullptr;
  Expr (*complex)(Expr) = nullptr;
  Expr (*integer)(Expr) = nullptr;
};
struct BinaryFormula {
  std::string_view name;
  Expr (*floating)(Expr, Expr) = nullptr;
  Expr (*complex)(Expr, Expr) = nullptr;
  Expr (*integer)(Expr, Expr) = nullptr;
  bool widen = true;  // false: f16 and bf16 stay as they are
};

// Errors: INVALID_ARGUMENT for a wrong number of operands, operands of different types, or an
// element type without a formula.
std::vector<Value> expand_formula(const UnaryFormula& formula, Builder& b,
                                  std::span<const Value> operands);
std::vector<Value> expand_formula(const BinaryFormula& formula, Builder& b,
                                  std::span<const Value> operands);

// The expansion of an op that is defined by its formula alone.
template <const auto& Formula>
std::vector<Value> elementwise(Builder& b, std::span<const Value> operands, const Attrs&,
                               std::span<const TensorType>) {
  return expand_formula(Formula, b, operands);
}

}  // namespace systole::hlo::chlo
