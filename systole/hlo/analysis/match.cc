#include "systole/hlo/analysis/match.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace systole::hlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Elements as numbers. Infinities stand for the lowest and highest integer, NaN for "none".
struct SpecialElements {
  Opcode opcode;
  double integer_neutral;
  double floating_neutral;
  double integer_absorbing;
  double floating_absorbing;
};

// Floats have no row for x + 0.0, which turns -0.0 into 0.0, nor for x * 0.0, because of NaN and
// the sign of zero.
constexpr SpecialElements kSpecialElements[] = {
    {Opcode::add, 0, -0.0, kNone, kNone},
    {Opcode::subtract, 0, 0.0, kNone, kNone},
    {Opcode::multiply, 1, 1, 0, kNone},
    {Opcode::divide, 1, 1, kNone, kNone},
    {Opcode::power, 1, 1, kNone, kNone},
    {Opcode::maximum, -kInfinity, -kInfinity, kInfinity, kNone},
    {Opcode::minimum, kInfinity, kInfinity, -kInfinity, kNone},
    {Opcode::or_, 0, kNone, kNone, kNone},
    {Opcode::xor_, 0, kNone, kNone, kNone},
    {Opcode::and_, kNone, kNone, 0, kNone},
    {Opcode::shift_left, 0, kNone, kNone, kNone},
    {Opcode::shift_right_arithmetic, 0, kNone, kNone, kNone},
    {Opcode::shift_right_logical, 0, kNone, kNone, kNone},
};

Tensor element(DType dtype, double number) {
  if (dtype == DType::pred) return Tensor(number > 0);
  return Tensor::full(dtype, {}, number);
}

Tensor all_ones(DType dtype) {
  if (dtype == DType::pred) return Tensor(true);
  return Tensor::full(dtype, {}, dtype_info(dtype).is_signed ? -1 : kInfinity);
}

std::optional<Tensor> special_element(Opcode opcode, DType dtype, double SpecialElements::*integer,
                                      double SpecialElements::*floating) {
  if (is_complex(dtype)) return std::nullopt;
  for (const SpecialElements& row : kSpecialElements) {
    if (row.opcode != opcode) continue;
    const double number = row.*(is_floating(dtype) ? floating : integer);
    if (std::isnan(number)) return std::nullopt;
    return element(dtype, number);
  }
  return std::nullopt;
}

}  // namespace

Instruction* match(Value value, Opcode opcode) {
  return value.def->is(opcode) ? value.def : nullptr;
}

const Tensor* constant_of(Value value) {
  const Instruction* constant = match(value, Opcode::constant);
  return constant == nullptr ? nullptr : &constant->attrs<ConstantAttrs>().value;
}

const Tensor* splat_of(Value value) {
  const Instruction* broadcast = match(value, Opcode::broadcast_in_dim);
  const Tensor* constant = constant_of(broadcast == nullptr ? value : broadcast->operand(0));
  return constant != nullptr && constant->num_elements() == 1 ? constant : nullptr;
}

bool is_known(Value value) { return constant_of(value) != nullptr || splat_of(value) != nullptr; }

bool is_splat(Value value, double number) {
  const Tensor* splat = splat_of(value);
  if (splat == nullptr || is_complex(splat->dtype())) return false;
  const double element = splat->as_double(0);
  return element == number &&
         (!is_floating(splat->dtype()) || std::signbit(element) == std::signbit(number));
}

std::optional<Tensor> right_neutral(Opcode opcode, DType dtype) {
  if (opcode == Opcode::and_) return all_ones(dtype);
  return special_element(opcode, dtype, &SpecialElements::integer_neutral,
                         &SpecialElements::floating_neutral);
}

std::optional<Tensor> right_absorbing(Opcode opcode, DType dtype) {
  if (opcode == Opcode::or_) return all_ones(dtype);
  return special_element(opcode, dtype, &SpecialElements::integer_absorbing,
                         &SpecialElements::floating_absorbing);
}

bool same_element(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.num_elements() == 1 && b.num_elements() == 1 &&
         std::memcmp(a.raw(), b.raw(), static_cast<size_t>(size_of(a.dtype()))) == 0;
}

bool regroups_exactly(Opcode opcode, DType dtype) {
  const OpcodeTraits& row = traits(opcode);
  if (!row.has(kAssociative) || !row.has(kCommutative)) return false;
  return !(is_floating(dtype) || is_complex(dtype)) || row.has(kIdempotent);
}

namespace {

bool never_negative_zero(Value value, int depth) {
  if (!is_floating(value.dtype())) return !is_complex(value.dtype());
  if (const Tensor* splat = splat_of(value)) {
    const double element = splat->as_double(0);
    return element != 0 || !std::signbit(element);
  }
  const Instruction& def = *value.def;
  if (def.is(Opcode::abs) || def.is(Opcode::exponential) || def.is(Opcode::logistic)) return true;
  if (def.is(Opcode::convert)) {
    const DType from = def.operand(0).dtype();
    return is_integer(from) || from == DType::pred;
  }
  // A sum is -0.0 only if both terms are, and no sum underflows. A square is never -0.0.
  if (def.is(Opcode::add) && depth > 0) {
    return never_negative_zero(def.operand(0), depth - 1) ||
           never_negative_zero(def.operand(1), depth - 1);
  }
  return def.is(Opcode::multiply) && def.operand(0) == def.operand(1);
}

}  // namespace

bool never_negative_zero(Value value) {
  // Limits the search: nested sums may have very many paths.
  constexpr int kDepth = 3;
  return never_negative_zero(value, kDepth);
}

}  // namespace systole::hlo
