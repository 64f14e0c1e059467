// Products: instructions before dot_general that can become part of it.
#include <algorithm>

#include "systole/hlo/analysis/match.h"
#include "systole/hlo/passes/algebraic_simplifier/rules.h"

namespace systole::hlo {
namespace {

bool contains(const Dims& dims, int64_t axis) { return std::ranges::count(dims, axis) != 0; }

// Renames an operand's axes from those after a transpose to those before it. Returns false if the
// operand's free axes, which the result takes in order, would change their order.
bool rename_axes(const Dims& permutation, Dims& batching, Dims& contracting) {
  Dims free;
  for (size_t axis = 0; axis < permutation.size(); ++axis) {
    const auto i = static_cast<int64_t>(axis);
    if (!contains(batching, i) && !contains(contracting, i)) free.push_back(permutation[axis]);
  }
  for (int64_t& axis : batching) axis = permutation[axis];
  for (int64_t& axis : contracting) axis = permutation[axis];
  return std::ranges::is_sorted(free);
}

// Returns whether the contracted axes of both operands are in the order of memory at once, so that
// a backend can read both as matrices.
bool contracts_in_order(const DotAttrs& attrs) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < attrs.lhs_contracting_dimensions.size(); ++i) {
    pairs.emplace_back(attrs.lhs_contracting_dimensions[i], attrs.rhs_contracting_dimensions[i]);
  }
  std::ranges::sort(pairs);
  return std::ranges::is_sorted(pairs, {}, &std::pair<int64_t, int64_t>::second);
}

// dot(transpose(x), y) -> dot(x, y) with other axes. The pairs of contracted axes keep their order,
// and so do the sums. Leaves a transpose that brings the contracted axes of both into one order.
Replacement dot_of_transpose(Instruction& op, Builder& builder) {
  const bool in_order = contracts_in_order(op.attrs<DotAttrs>());
  DotAttrs attrs = op.attrs<DotAttrs>();
  Value x = op.operand(0);
  Value y = op.operand(1);
  bool changed = false;
  if (const Instruction* transpose = match(x, Opcode::transpose)) {
    DotAttrs renamed = attrs;
    if (rename_axes(transpose->attrs<TransposeAttrs>().permutation, renamed.lhs_batching_dimensions,
                    renamed.lhs_contracting_dimensions) &&
        (!in_order || contracts_in_order(renamed))) {
      attrs = renamed;
      x = transpose->operand(0);
      changed = true;
    }
  }
  if (const Instruction* transpose = match(y, Opcode::transpose)) {
    DotAttrs renamed = attrs;
    if (rename_axes(transpose->attrs<TransposeAttrs>().permutation, renamed.rhs_batching_dimensions,
                    renamed.rhs_contracting_dimensions) &&
        (!in_order || contracts_in_order(renamed))) {
      attrs = renamed;
      y = transpose->operand(0);
      changed = true;
    }
  }
  if (!changed) return {};
  return {builder.dot_general(x, y, attrs, op.dtype())};
}

// Removes `axes`, which have size 1, from the operand, and renumbers the other axes of `named`.
Value without_axes(Builder& builder, Value x, const Dims& axes, Dims& batching, Dims& contracting) {
  Dims sizes;
  for (int64_t axis = 0; axis < x.shape().rank(); ++axis) {
    if (!contains(axes, axis)) sizes.push_back(x.shape()[static_cast<int>(axis)]);
  }
  for (Dims* dims : {&batching, &contracting}) {
    Dims left;
    for (const int64_t axis : *dims) {
      if (contains(axes, axis)) continue;
      left.push_back(axis - std::ranges::count_if(axes, [&](int64_t a) { return a < axis; }));
    }
    *dims = left;
  }
  return builder.reshape(x, Shape(sizes));
}

// Removes batch axes of size 1, and contracted axes of size 1 if there are others. More products
// are then plain matrix products.
Replacement dot_without_unit_axes(Instruction& op, Builder& builder) {
  DotAttrs attrs = op.attrs<DotAttrs>();
  const Shape& lhs = op.operand(0).shape();
  Dims lhs_axes;
  Dims rhs_axes;
  size_t contracted = attrs.lhs_contracting_dimensions.size();
  for (size_t i = 0; i < attrs.lhs_batching_dimensions.size(); ++i) {
    if (lhs[static_cast<int>(attrs.lhs_batching_dimensions[i])] != 1) continue;
    lhs_axes.push_back(attrs.lhs_batching_dimensions[i]);
    rhs_axes.push_back(attrs.rhs_batching_dimensions[i]);
  }
  for (size_t i = 0; i < attrs.lhs_contracting_dimensions.size() && contracted > 1; ++i) {
    if (lhs[static_cast<int>(attrs.lhs_contracting_dimensions[i])] != 1) continue;
    lhs_axes.push_back(attrs.lhs_contracting_dimensions[i]);
    rhs_axes.push_back(attrs.rhs_contracting_dimensions[i]);
    --contracted;
  }
  if (lhs_axes.empty()) return {};
  const Value x = without_axes(builder, op.operand(0), lhs_axes, attrs.lhs_batching_dimensions,
                               attrs.lhs_contracting_dimensions);
  const Value y = without_axes(builder, op.operand(1), rhs_axes, attrs.rhs_batching_dimensions,
                               attrs.rhs_contracting_dimensions);
  const Value dot = builder.dot_general(x, y, attrs, op.dtype());
  return {dot.shape() == op.shape() ? dot : builder.reshape(dot, op.shape())};
}

// dot(convert(x), convert(y)) from bf16 to f32 -> dot(x, y) with a result of f32, which matrix
// units compute in one step and twice as fast. A product of two bf16 is exact in f32, so only the
// summation rounds, in both forms; its order and width are up to the implementation.
Replacement dot_of_converted(Instruction& op, Builder& builder) {
  const Instruction* x = match(op.operand(0), Opcode::convert);
  const Instruction* y = match(op.operand(1), Opcode::convert);
  if (x == nullptr || y == nullptr || op.dtype() != DType::f32 || x->dtype() != DType::f32)
    return {};
  const auto is_bf16 = [](const Instruction* convert) {
    return convert->operand(0).dtype() == DType::bf16;
  };
  if (!is_bf16(x) || !is_bf16(y)) return {};
  return {builder.dot_general(x->operand(0), y->operand(0), op.attrs<DotAttrs>(), op.dtype())};
}

constexpr Rule kDotRulesRules[] = {
    {"dot_of_transpose", Opcode::dot_general, dot_of_transpose},
    {"dot_without_unit_axes", Opcode::dot_general, dot_without_unit_axes},
    {"dot_of_converted", Opcode::dot_general, dot_of_converted},
};

}  // namespace

std::span<const Rule> dot_rules() { return kDotRulesRules; }

}  // namespace systole::hlo
