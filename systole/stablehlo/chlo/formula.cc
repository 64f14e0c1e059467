#include "systole/stablehlo/chlo/formula.h"

#include "systole/base/error.h"

namespace systole::hlo::chlo {
namespace {

template <class Formula>
std::string families(const Formula& formula) {
  std::string text;
  const auto add = [&text](bool supported, std::string_view name) {
    if (supported) text += fmt::format("{}{}", text.empty() ? "" : " or ", name);
  };
  add(formula.floating != nullptr, "floating-point");
  add(formula.complex != nullptr, "complex");
  add(formula.integer != nullptr, "integer");
  return text;
}

// Returns the formula of the dtype's family. Errors: INVALID_ARGUMENT if there is none.
template <class Formula>
auto formula_of(const Formula& formula, DType dtype) {
  auto function = is_floating(dtype)  ? formula.floating
                  : is_complex(dtype) ? formula.complex
                  : is_integer(dtype) ? formula.integer
                                      : nullptr;
  if (function == nullptr) {
    throw invalid_argument("chlo.{}: element type, got {}, expected {}", formula.name, dtype,
                           families(formula));
  }
  return function;
}

void expect_operands(std::string_view name, std::span<const Value> operands, size_t count) {
  if (operands.size() != count) {
    throw invalid_argument("chlo.{}: operands, got {}, expected {}", name, operands.size(), count);
  }
  if (operands[0].type() != operands[count - 1].type()) {
    throw invalid_argument("chlo.{}: operand types, got {} and {}, expected equal", name,
                           operands[0].type(), operands[count - 1].type());
  }
}

DType compute_dtype(DType dtype) {
  return is_floating(dtype) && dtype_info(dtype).bits < 32 ? DType::f32 : dtype;
}

}  // namespace

Expr from_bits(Expr bits, DType dtype) {
  Builder& b = bits.builder();
  return {b, b.op(Opcode::bitcast_convert, {bits.value()}, NoAttrs{},
                  {TensorType{dtype, bits.value().shape()}})
                 ->result()};
}

Expr bits_of(Expr x) {
  const int bytes = size_of(x.dtype());
  return from_bits(x, bytes == 8 ? DType::s64 : bytes == 4 ? DType::s32 : DType::s16);
}

Expr copy_sign(Expr x, Expr sign) {
  const Expr size = abs(x);
  return where(is_negative(sign), -size, size);
}

TwoPart split(Expr x, SplitConstant constant) {
  if (x.is_f64()) return {x.constant(constant.high), x.constant(constant.low)};
  const double high = static_cast<float>(constant.high);
  return {x.constant(high), x.constant(constant.high - high)};
}

Expr high_half(Expr x) {
  Builder& b = x.builder();
  const ReducePrecisionAttrs half =
      x.is_f64() ? ReducePrecisionAttrs{11, 25} : ReducePrecisionAttrs{8, 11};
  return {b, b.op(Opcode::reduce_precision, {x.value()}, half)->result()};
}

SplitExponent split_exponent(Expr x) {
  // In the difference of x's bits and those of sqrt(1/2), the exponent is above the mantissa.
  const int mantissa_bits = x.is_f64() ? 52 : 23;
  const double root = x.is_f64() ? 0x3fe6a09e667f3c00 : 0x3f3504f3;
  const Expr bits = bits_of(x);
  const Expr width = bits.constant(mantissa_bits);
  const Expr power = (bits - root).binary(Opcode::shift_right_arithmetic, width);
  const Expr rest = bits - power.binary(Opcode::shift_left, width);
  return {power.convert(x.dtype()), from_bits(rest, x.dtype())};
}

Expr polynomial(Expr x, std::span<const double> coefficients) {
  Expr result = x.constant(coefficients[0]);
  for (const double coefficient : coefficients.subspan(1)) result = result * x + coefficient;
  return result;
}

std::vector<Value> expand_formula(const UnaryFormula& formula, Builder& b,
                                  std::span<const Value> operands) {
  expect_operands(formula.name, operands, 1);
  const DType dtype = operands[0].dtype();
  const auto function = formula_of(formula, dtype);
  const Expr result = function(Expr(b, operands[0]).convert(compute_dtype(dtype)));
  const bool rounded = compute_dtype(dtype) != dtype && result.dtype() == compute_dtype(dtype);
  return {rounded ? result.convert(dtype).value() : result.value()};
}

std::vector<Value> expand_formula(const BinaryFormula& formula, Builder& b,
                                  std::span<const Value> operands) {
  expect_operands(formula.name, operands, 2);
  const DType dtype = operands[0].dtype();
  const auto function = formula_of(formula, dtype);
  const DType wide = formula.widen ? compute_dtype(dtype) : dtype;
  const Expr x = Expr(b, operands[0]).convert(wide);
  const Expr y = Expr(b, operands[1]).convert(wide);
  return {function(x, y).convert(dtype).value()};
}

}  // namespace systole::hlo::chlo
