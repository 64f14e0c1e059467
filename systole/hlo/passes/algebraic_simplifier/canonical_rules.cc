// Canonical forms, so that the other rules and CSE look for one form only.
#include <cstring>

#include "systole/hlo/analysis/match.h"
#include "systole/hlo/passes/algebraic_simplifier/rules.h"

namespace systole::hlo {
namespace {

// op(c, x) -> op(x, c)
Replacement constant_to_the_right(Instruction& op, Builder& builder) {
  if (op.num_operands() != 2 || !is_known(op.operand(0)) || is_known(op.operand(1))) return {};
  return {builder.binary(op.opcode(), op.operand(1), op.operand(0))};
}

constexpr ComparisonDirection kMirrored[] = {
    ComparisonDirection::eq, ComparisonDirection::ne, ComparisonDirection::le,
    ComparisonDirection::lt, ComparisonDirection::ge, ComparisonDirection::gt,
};

// c < x -> x > c
Replacement compared_constant_to_the_right(Instruction& op, Builder& builder) {
  if (!is_known(op.operand(0)) || is_known(op.operand(1))) return {};
  CompareAttrs attrs = op.attrs<CompareAttrs>();
  attrs.direction = kMirrored[static_cast<size_t>(attrs.direction)];
  return {builder.op(Opcode::compare, {op.operand(1), op.operand(0)}, attrs)->result()};
}

// A constant of equal elements is a broadcast of one: smaller, and recognised by splat_of.
Replacement uniform_constant(Instruction& op, Builder& builder) {
  const Tensor& value = op.attrs<ConstantAttrs>().value;
  if (value.num_elements() < 2 || !is_numeric(value.dtype())) return {};
  const auto size = static_cast<size_t>(size_of(value.dtype()));
  const auto* bytes = static_cast<const std::byte*>(value.raw());
  const auto count = static_cast<size_t>(value.num_elements());
  if (std::memcmp(bytes, bytes + size, size * (count - 1)) != 0) return {};
  Tensor element(value.dtype(), {});
  std::memcpy(element.raw(), bytes, size);
  return {builder.broadcast_in_dim(builder.constant(std::move(element)), value.shape(), {})};
}

// All indices along an axis of size 1 are 0.
Replacement iota_of_one(Instruction& op, Builder& builder) {
  if (op.shape()[static_cast<int>(op.attrs<IotaAttrs>().iota_dimension)] != 1) return {};
  return {builder.splat(op.type(), 0)};
}

// (x op c) op d -> x op (c op d), which constant folding turns into one constant.
Replacement regroup_constants(Instruction& op, Builder& builder) {
  if (op.num_operands() != 2 || !regroups_exactly(op.opcode(), op.dtype())) return {};
  const Instruction* inner = match(op.operand(0), op.opcode());
  if (inner == nullptr || !is_known(op.operand(1)) || !is_known(inner->operand(1))) return {};
  if (is_known(inner->operand(0))) return {};
  const Value constants = builder.binary(op.opcode(), inner->operand(1), op.operand(1));
  return {builder.binary(op.opcode(), inner->operand(0), constants)};
}

// x - c -> x + (-c) for integers, which regroups. Exact: both wrap.
Replacement subtract_constant(Instruction& op, Builder& builder) {
  if (!is_integer(op.dtype()) || !is_known(op.operand(1))) return {};
  return {builder.add(op.operand(0), builder.negate(op.operand(1)))};
}

constexpr Rule kCanonicalRulesRules[] = {
    {"constant_to_the_right", Subject::having(kCommutative), constant_to_the_right},
    {"compared_constant_to_the_right", Opcode::compare, compared_constant_to_the_right},
    {"uniform_constant", Opcode::constant, uniform_constant},
    {"iota_of_one", Opcode::iota, iota_of_one},
    {"regroup_constants", Subject::having(kAssociative), regroup_constants},
    {"subtract_constant", Opcode::subtract, subtract_constant},
};

}  // namespace

std::span<const Rule> canonical_rules() { return kCanonicalRulesRules; }

}  // namespace systole::hlo
