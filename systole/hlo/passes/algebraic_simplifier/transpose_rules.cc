// Transposes and reverses: composed, removed, or moved into the operand.
#include <algorithm>

#include "systole/hlo/analysis/match.h"
#include "systole/hlo/passes/algebraic_simplifier/rules.h"

namespace systole::hlo {
namespace {

const Dims& permutation_of(const Instruction& transpose) {
  return transpose.attrs<TransposeAttrs>().permutation;
}

Replacement transpose_to_same(Instruction& op, Builder&) {
  if (!std::ranges::is_sorted(permutation_of(op))) return {};
  return {op.operand(0)};
}

Replacement transpose_of_transpose(Instruction& op, Builder& builder) {
  const Instruction* inner = match(op.operand(0), Opcode::transpose);
  if (inner == nullptr) return {};
  Dims permutation;
  for (const int64_t axis : permutation_of(op)) {
    permutation.push_back(permutation_of(*inner)[axis]);
  }
  return {builder.transpose(inner->operand(0), permutation)};
}

// Only axes of size 1 move; the elements keep their order.
Replacement transpose_as_reshape(Instruction& op, Builder& builder) {
  const Shape& from = op.operand(0).shape();
  Dims moved;
  for (const int64_t axis : permutation_of(op)) {
    if (from[static_cast<int>(axis)] != 1) moved.push_back(axis);
  }
  if (!std::ranges::is_sorted(moved)) return {};
  return {builder.reshape(op.operand(0), op.shape())};
}

Replacement transpose_of_broadcast(Instruction& op, Builder& builder) {
  const Instruction* broadcast = match(op.operand(0), Opcode::broadcast_in_dim);
  if (broadcast == nullptr) return {};
  const Dims& permutation = permutation_of(op);
  Dims dimensions;
  for (const int64_t axis : broadcast->attrs<BroadcastInDimAttrs>().broadcast_dimensions) {
    dimensions.push_back(std::ranges::find(permutation, axis) - permutation.begin());
  }
  return {builder.broadcast_in_dim(broadcast->operand(0), op.shape(), dimensions)};
}

// transpose(x . y) -> transpose(y . x), if an axis of x comes last: the transpose then moves whole
// lines, or nothing. Products commute, and sums keep their order.
Replacement transpose_of_dot(Instruction& op, Builder& builder) {
  const Instruction* dot = match(op.operand(0), Opcode::dot_general);
  if (dot == nullptr || dot->users().size() != 1) return {};
  const auto& attrs = dot->attrs<DotAttrs>();
  const auto batch = static_cast<int64_t>(attrs.lhs_batching_dimensions.size());
  const auto contracted = static_cast<int64_t>(attrs.lhs_contracting_dimensions.size());
  const int64_t lhs_free = dot->operand(0).shape().rank() - batch - contracted;
  const int64_t rhs_free = op.shape().rank() - batch - lhs_free;
  Dims permutation = permutation_of(op);
  const int64_t last = permutation.back();
  const bool of_lhs = last >= batch && last < batch + lhs_free;
  // An algorithm distinguishes the two operands.
  if (!of_lhs || rhs_free == 0 || attrs.algorithm != DotAlgorithm()) return {};
  for (int64_t& axis : permutation) {
    if (axis >= batch) axis += axis < batch + lhs_free ? rhs_free : -lhs_free;
  }
  const Value swapped = builder.dot_general(
      dot->operand(1), dot->operand(0),
      {.lhs_batching_dimensions = attrs.rhs_batching_dimensions,
       .rhs_batching_dimensions = attrs.lhs_batching_dimensions,
       .lhs_contracting_dimensions = attrs.rhs_contracting_dimensions,
       .rhs_contracting_dimensions = attrs.lhs_contracting_dimensions,
       .precision_config = {attrs.precision_config.rbegin(), attrs.precision_config.rend()}},
      op.dtype());
  return {std::ranges::is_sorted(permutation) ? swapped : builder.transpose(swapped, permutation)};
}

// transpose(reshape(x)) -> reshape(transpose(x)), if the reshape only adds axes of size 1. A
// product without batch axes of size 1 is then transposed itself.
Replacement transpose_of_added_axes(Instruction& op, Builder& builder) {
  const Instruction* reshape = match(op.operand(0), Opcode::reshape);
  if (reshape == nullptr || reshape->users().size() != 1) return {};
  const Shape& small = reshape->operand(0).shape();
  if (small.rank() >= reshape->shape().rank()) return {};
  // The axis of x for each axis of the reshape; -1 for one that it adds.
  Dims axes;
  for (const int64_t size : reshape->shape()) {
    const int64_t next = std::ranges::count_if(axes, [](int64_t axis) { return axis >= 0; });
    const bool same = next < small.rank() && small[static_cast<int>(next)] == size;
    if (!same && size != 1) return {};
    axes.push_back(same ? next : -1);
  }
  Dims permutation;
  for (const int64_t axis : permutation_of(op)) {
    if (axes[axis] >= 0) permutation.push_back(axes[axis]);
  }
  if (static_cast<int>(permutation.size()) != small.rank()) return {};
  return {builder.reshape(builder.transpose(reshape->operand(0), permutation), op.shape())};
}

// Reversing an axis of one element, or none, is the identity.
Replacement reverse_of_nothing(Instruction& op, Builder&) {
  for (const int64_t axis : op.attrs<DimensionsAttrs>().dimensions) {
    if (op.shape()[static_cast<int>(axis)] > 1) return {};
  }
  return {op.operand(0)};
}

// Axes that both reverse keep their order.
Replacement reverse_of_reverse(Instruction& op, Builder& builder) {
  const Instruction* inner = match(op.operand(0), Opcode::reverse);
  if (inner == nullptr) return {};
  Dims once;
  const Dims& a = op.attrs<DimensionsAttrs>().dimensions;
  const Dims& b = inner->attrs<DimensionsAttrs>().dimensions;
  for (int64_t axis = 0; axis < op.shape().rank(); ++axis) {
    if ((std::ranges::count(a, axis) + std::ranges::count(b, axis)) == 1) once.push_back(axis);
  }
  if (once.empty()) return {inner->operand(0)};
  return {builder.reverse(inner->operand(0), once)};
}

// All elements along broadcast axes are equal.
Replacement reverse_of_broadcast(Instruction& op, Builder& builder) {
  const Instruction* broadcast = match(op.operand(0), Opcode::broadcast_in_dim);
  if (broadcast == nullptr) return {};
  const Shape& small = broadcast->operand(0).shape();
  const Dims& to = broadcast->attrs<BroadcastInDimAttrs>().broadcast_dimensions;
  const Dims& reversed = op.attrs<DimensionsAttrs>().dimensions;
  Dims left;
  for (const int64_t axis : reversed) {
    const auto found = std::ranges::find(to, axis);
    if (found != to.end() && small[static_cast<int>(found - to.begin())] > 1) left.push_back(axis);
  }
  if (left.empty()) return {op.operand(0)};
  if (left.size() == reversed.size()) return {};
  return {builder.reverse(op.operand(0), left)};
}

constexpr Rule kTransposeRulesRules[] = {
    {"transpose_to_same", Opcode::transpose, transpose_to_same},
    {"transpose_of_transpose", Opcode::transpose, transpose_of_transpose},
    {"transpose_as_reshape", Opcode::transpose, transpose_as_reshape},
    {"transpose_of_broadcast", Opcode::transpose, transpose_of_broadcast},
    {"transpose_of_dot", Opcode::transpose, transpose_of_dot},
    {"transpose_of_added_axes", Opcode::transpose, transpose_of_added_axes},
    {"reverse_of_nothing", Opcode::reverse, reverse_of_nothing},
    {"reverse_of_reverse", Opcode::reverse, reverse_of_reverse},
    {"reverse_of_broadcast", Opcode::reverse, reverse_of_broadcast},
};

}  // namespace

std::span<const Rule> transpose_rules() { return kTransposeRulesRules; }

}  // namespace systole::hlo
