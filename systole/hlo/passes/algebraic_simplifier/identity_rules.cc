// Operations whose value is an operand or a constant.
#include "systole/hlo/analysis/match.h"
#include "systole/hlo/ir/placement.h"
#include "systole/hlo/passes/algebraic_simplifier/rules.h"

namespace systole::hlo {
namespace {

// op(x, e) -> x: x + 0 for integers, x + -0.0, x * 1, x / 1, max(x, -inf), x & ~0...
Replacement right_neutral_element(Instruction& op, Builder&) {
  if (op.num_operands() != 2) return {};
  const Tensor* splat = splat_of(op.operand(1));
  if (splat == nullptr) return {};
  const std::optional<Tensor> neutral = right_neutral(op.opcode(), op.dtype());
  if (!neutral || !same_element(*neutral, *splat)) return {};
  return {op.operand(0)};
}

// op(x, z) -> z: x * 0 and x & 0 for integers, x | ~0...
Replacement right_absorbing_element(Instruction& op, Builder&) {
  if (op.num_operands() != 2) return {};
  const Tensor* splat = splat_of(op.operand(1));
  if (splat == nullptr) return {};
  const std::optional<Tensor> absorbing = right_absorbing(op.opcode(), op.dtype());
  if (!absorbing || !same_element(*absorbing, *splat)) return {};
  return {op.operand(1)};
}

// x + 0.0 differs from x only at x == -0.0.
Replacement add_positive_zero(Instruction& op, Builder&) {
  if (!is_floating(op.dtype()) || !is_splat(op.operand(1), 0.0)) return {};
  if (!never_negative_zero(op.operand(0))) return {};
  return {op.operand(0)};
}

// max(x, x) -> x, x & x -> x
Replacement idempotent_pair(Instruction& op, Builder&) {
  if (op.num_operands() != 2 || op.operand(0) != op.operand(1)) return {};
  return {op.operand(0)};
}

// floor(floor(x)) -> floor(x)
Replacement idempotent_twice(Instruction& op, Builder&) {
  if (op.num_operands() != 1 || match(op.operand(0), op.opcode()) == nullptr) return {};
  return {op.operand(0)};
}

// -(-x) -> x
Replacement involution_twice(Instruction& op, Builder&) {
  const Instruction* inner = match(op.operand(0), op.opcode());
  if (op.num_operands() != 1 || inner == nullptr) return {};
  return {inner->operand(0)};
}

// x - x -> 0 for integers; a float may be NaN or infinite.
Replacement subtract_itself(Instruction& op, Builder& builder) {
  if (op.operand(0) != op.operand(1) || !is_integer(op.dtype())) return {};
  return {builder.splat(op.type(), 0)};
}

Replacement xor_itself(Instruction& op, Builder& builder) {
  if (op.operand(0) != op.operand(1)) return {};
  return {builder.splat(op.type(), 0)};
}

// x ^ ~0 -> not x, and for pred that is x != true.
Replacement xor_all_ones(Instruction& op, Builder& builder) {
  const Tensor* splat = splat_of(op.operand(1));
  const std::optional<Tensor> ones = right_neutral(Opcode::and_, op.dtype());
  if (splat == nullptr || !ones || !same_element(*ones, *splat)) return {};
  return {builder.unary(Opcode::not_, op.operand(0))};
}

// x % 1 -> 0 for integers
Replacement remainder_by_one(Instruction& op, Builder& builder) {
  if (!is_integer(op.dtype()) || !is_splat(op.operand(1), 1)) return {};
  return {builder.splat(op.type(), 0)};
}

// clamp(lowest, x, highest) -> x
Replacement clamp_by_nothing(Instruction& op, Builder&) {
  const Tensor* low = splat_of(op.operand(0));
  const Tensor* high = splat_of(op.operand(2));
  if (low == nullptr || high == nullptr) return {};
  const std::optional<Tensor> lowest = right_neutral(Opcode::maximum, op.dtype());
  const std::optional<Tensor> highest = right_neutral(Opcode::minimum, op.dtype());
  if (!lowest || !same_element(*lowest, *low) || !same_element(*highest, *high)) return {};
  return {op.operand(1)};
}

// Placement does not change a value.
Replacement placement(Instruction& op, Builder&) {
  if (!is_placement(op)) return {};
  return {op.operands().begin(), op.operands().end()};
}

constexpr Rule kIdentityRulesRules[] = {
    {"right_neutral_element", Subject::having(kElementwise), right_neutral_element},
    {"right_absorbing_element", Subject::having(kElementwise), right_absorbing_element},
    {"add_positive_zero", Opcode::add, add_positive_zero},
    {"idempotent_pair", Subject::having(kIdempotent), idempotent_pair},
    {"idempotent_twice", Subject::having(kIdempotent), idempotent_twice},
    {"involution_twice", Subject::having(kInvolution), involution_twice},
    {"subtract_itself", Opcode::subtract, subtract_itself},
    {"xor_itself", Opcode::xor_, xor_itself},
    {"xor_all_ones", Opcode::xor_, xor_all_ones},
    {"remainder_by_one", Opcode::remainder, remainder_by_one},
    {"clamp_by_nothing", Opcode::clamp, clamp_by_nothing},
    {"placement", Opcode::custom_call, placement},
};

}  // namespace

std::span<const Rule> identity_rules() { return kIdentityRulesRules; }

}  // namespace systole::hlo
