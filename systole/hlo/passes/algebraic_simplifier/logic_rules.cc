// Predicates: compare, not, select.
#include "systole/hlo/analysis/match.h"
#include "systole/hlo/passes/algebraic_simplifier/rules.h"

namespace systole::hlo {
namespace {

constexpr ComparisonDirection kNegated[] = {
    ComparisonDirection::ne, ComparisonDirection::eq, ComparisonDirection::lt,
    ComparisonDirection::le, ComparisonDirection::gt, ComparisonDirection::ge,
};

bool holds_when_equal(ComparisonDirection direction) {
  return direction == ComparisonDirection::eq || direction == ComparisonDirection::ge ||
         direction == ComparisonDirection::le;
}

// x == x -> true, x < x -> false; not for floats, where NaN != NaN.
Replacement compare_itself(Instruction& op, Builder& builder) {
  const Value x = op.operand(0);
  if (x != op.operand(1) || is_floating(x.dtype()) || is_complex(x.dtype())) return {};
  return {builder.splat(op.type(), holds_when_equal(op.attrs<CompareAttrs>().direction) ? 1 : 0)};
}

// not (x < y) -> x >= y. For floats only == and !=: with NaN both sides of any other comparison are
// false.
Replacement not_compare(Instruction& op, Builder& builder) {
  const Instruction* compare = match(op.operand(0), Opcode::compare);
  if (compare == nullptr) return {};
  CompareAttrs attrs = compare->attrs<CompareAttrs>();
  const DType dtype = compare->operand(0).dtype();
  const bool equality =
      attrs.direction == ComparisonDirection::eq || attrs.direction == ComparisonDirection::ne;
  if ((is_floating(dtype) || is_complex(dtype)) && !equality) return {};
  attrs.direction = kNegated[static_cast<size_t>(attrs.direction)];
  return {builder.op(Opcode::compare, {compare->operand(0), compare->operand(1)}, attrs)->result()};
}

// convert(p) != 0 -> p, convert(p) > 0 -> p, convert(p) == 0 -> not p, of a predicate p
Replacement compare_converted_predicate(Instruction& op, Builder& builder) {
  const Instruction* convert = match(op.operand(0), Opcode::convert);
  if (convert == nullptr || convert->operand(0).dtype() != DType::pred) return {};
  if (is_complex(convert->dtype()) || !is_splat(op.operand(1), 0)) return {};
  const ComparisonDirection direction = op.attrs<CompareAttrs>().direction;
  const Value p = convert->operand(0);
  if (direction == ComparisonDirection::ne || direction == ComparisonDirection::gt) return {p};
  // With total order, -0.0 would matter; 0 and 1 compare alike in both orders.
  if (direction == ComparisonDirection::eq) return {builder.unary(Opcode::not_, p)};
  return {};
}

// p == true -> p, p != false -> p, p == false -> not p
Replacement compare_with_constant_predicate(Instruction& op, Builder& builder) {
  const Value p = op.operand(0);
  const ComparisonDirection direction = op.attrs<CompareAttrs>().direction;
  const bool eq = direction == ComparisonDirection::eq;
  if (p.dtype() != DType::pred || (!eq && direction != ComparisonDirection::ne)) return {};
  const Tensor* splat = splat_of(op.operand(1));
  if (splat == nullptr) return {};
  const bool keep = splat->as_double(0) != 0 ? eq : !eq;
  return {keep ? p : builder.unary(Opcode::not_, p)};
}

Replacement select_constant(Instruction& op, Builder&) {
  const Tensor* splat = splat_of(op.operand(0));
  if (splat == nullptr) return {};
  return {op.operand(splat->as_double(0) != 0 ? 1 : 2)};
}

// select(p, x, x) -> x
Replacement select_same(Instruction& op, Builder&) {
  if (op.operand(1) != op.operand(2)) return {};
  return {op.operand(1)};
}

// select(not p, x, y) -> select(p, y, x)
Replacement select_not(Instruction& op, Builder& builder) {
  const Instruction* negation = match(op.operand(0), Opcode::not_);
  if (negation == nullptr) return {};
  return {builder.select(negation->operand(0), op.operand(2), op.operand(1))};
}

// select(p, true, false) -> p
Replacement select_predicate(Instruction& op, Builder& builder) {
  if (op.dtype() != DType::pred || op.operand(0).shape() != op.shape()) return {};
  if (is_splat(op.operand(1), 1) && is_splat(op.operand(2), 0)) return {op.operand(0)};
  if (is_splat(op.operand(1), 0) && is_splat(op.operand(2), 1)) {
    return {builder.unary(Opcode::not_, op.operand(0))};
  }
  return {};
}

// select(p, select(p, x, y), z) -> select(p, x, z); select(p, x, select(p, y, z)) -> select(p, x,
// z)
Replacement select_of_select(Instruction& op, Builder& builder) {
  const Value p = op.operand(0);
  const Instruction* on_true = match(op.operand(1), Opcode::select);
  if (on_true != nullptr && on_true->operand(0) == p) {
    return {builder.select(p, on_true->operand(1), op.operand(2))};
  }
  const Instruction* on_false = match(op.operand(2), Opcode::select);
  if (on_false != nullptr && on_false->operand(0) == p) {
    return {builder.select(p, op.operand(1), on_false->operand(2))};
  }
  return {};
}

// select(broadcast(p), x, y) -> select(p, x, y) for a scalar p, which `select` broadcasts itself.
Replacement select_by_broadcast_scalar(Instruction& op, Builder& builder) {
  const Instruction* broadcast = match(op.operand(0), Opcode::broadcast_in_dim);
  if (broadcast == nullptr || broadcast->operand(0).shape().rank() != 0) return {};
  return {builder.select(broadcast->operand(0), op.operand(1), op.operand(2))};
}

constexpr Rule kLogicRulesRules[] = {
    {"compare_itself", Opcode::compare, compare_itself},
    {"not_compare", Opcode::not_, not_compare},
    {"compare_converted_predicate", Opcode::compare, compare_converted_predicate},
    {"compare_with_constant_predicate", Opcode::compare, compare_with_constant_predicate},
    {"select_constant", Opcode::select, select_constant},
    {"select_same", Opcode::select, select_same},
    {"select_not", Opcode::select, select_not},
    {"select_predicate", Opcode::select, select_predicate},
    {"select_of_select", Opcode::select, select_of_select},
    {"select_by_broadcast_scalar", Opcode::select, select_by_broadcast_scalar},
};

}  // namespace

std::span<const Rule> logic_rules() { return kLogicRulesRules; }

}  // namespace systole::hlo
