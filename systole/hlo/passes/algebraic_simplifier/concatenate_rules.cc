// Concatenations and paddings.
#include <algorithm>

#include "systole/hlo/analysis/match.h"
#include "systole/hlo/passes/algebraic_simplifier/rules.h"

namespace systole::hlo {
namespace {

Replacement concatenate_of_one(Instruction& op, Builder&) {
  if (op.num_operands() != 1) return {};
  return {op.operand(0)};
}

// Removes operands without elements; keeps the first if all are empty.
Replacement concatenate_of_empty(Instruction& op, Builder& builder) {
  const int64_t dimension = op.attrs<ConcatenateAttrs>().dimension;
  std::vector<Value> parts;
  for (const Value& part : op.operands()) {
    if (part.shape()[static_cast<int>(dimension)] != 0) parts.push_back(part);
  }
  if (parts.empty()) parts.push_back(op.operand(0));
  if (static_cast<int>(parts.size()) == op.num_operands()) return {};
  return {builder.concatenate(parts, dimension)};
}

// concatenate(concatenate(x, y), z) -> concatenate(x, y, z) along the same axis: each element is
// copied once. An inner one that is used again keeps its operands, and they must not double at each
// level of a chain: only short ones are taken apart.
Replacement concatenate_of_concatenate(Instruction& op, Builder& builder) {
  constexpr int kShort = 16;
  std::vector<Value> parts;
  for (const Value& part : op.operands()) {
    const Instruction* inner = match(part, Opcode::concatenate);
    const bool grows =
        inner != nullptr && inner->users().size() > 1 && inner->num_operands() > kShort;
    if (!grows && inner != nullptr &&
        inner->attrs<ConcatenateAttrs>() == op.attrs<ConcatenateAttrs>()) {
      parts.insert(parts.end(), inner->operands().begin(), inner->operands().end());
    } else {
      parts.push_back(part);
    }
  }
  if (static_cast<int>(parts.size()) == op.num_operands()) return {};
  return {builder.concatenate(parts, op.attrs<ConcatenateAttrs>().dimension)};
}

// Returns the slice that two adjacent slices of one value form along `axis`.
std::optional<SliceAttrs> joined(Value first, Value second, size_t axis) {
  const Instruction* a = match(first, Opcode::slice);
  const Instruction* b = match(second, Opcode::slice);
  if (a == nullptr || b == nullptr || a->operand(0) != b->operand(0)) return std::nullopt;
  SliceAttrs whole = a->attrs<SliceAttrs>();
  SliceAttrs rest = b->attrs<SliceAttrs>();
  if (whole.strides[axis] != 1 || rest.strides[axis] != 1) return std::nullopt;
  if (whole.limit_indices[axis] != rest.start_indices[axis]) return std::nullopt;
  whole.limit_indices[axis] = rest.limit_indices[axis];
  rest.start_indices[axis] = whole.start_indices[axis];
  return whole == rest ? std::optional(whole) : std::nullopt;
}

// concatenate(x[0:2], x[2:5]) -> x[0:5], for the first such neighbours.
Replacement concatenate_of_neighbours(Instruction& op, Builder& builder) {
  const auto axis = static_cast<size_t>(op.attrs<ConcatenateAttrs>().dimension);
  for (int i = 0; i + 1 < op.num_operands(); ++i) {
    const auto whole = joined(op.operand(i), op.operand(i + 1), axis);
    if (!whole) continue;
    std::vector<Value> parts(op.operands().begin(), op.operands().end());
    parts.erase(parts.begin() + i + 1);
    parts[i] = builder.slice(op.operand(i).def->operand(0), whole->start_indices,
                             whole->limit_indices, whole->strides);
    return {builder.concatenate(parts, op.attrs<ConcatenateAttrs>().dimension)};
  }
  return {};
}

// Adjacent broadcasts of one scalar become one broadcast.
Replacement concatenate_of_splats(Instruction& op, Builder& builder) {
  Value scalar;
  for (const Value& part : op.operands()) {
    const Instruction* broadcast = match(part, Opcode::broadcast_in_dim);
    if (broadcast == nullptr || broadcast->operand(0).shape().rank() != 0) return {};
    if (scalar && broadcast->operand(0) != scalar) {
      const Tensor* a = constant_of(scalar);
      const Tensor* b = constant_of(broadcast->operand(0));
      if (a == nullptr || b == nullptr || !same_element(*a, *b)) return {};
    }
    scalar = broadcast->operand(0);
  }
  return {builder.broadcast(scalar, op.shape())};
}

Replacement pad_by_nothing(Instruction& op, Builder&) {
  const auto is_zero = [](int64_t amount) { return amount == 0; };
  const auto& [low, high, interior] = op.attrs<PadAttrs>();
  if (!std::ranges::all_of(low, is_zero) || !std::ranges::all_of(high, is_zero)) return {};
  for (size_t d = 0; d < interior.size(); ++d) {
    if (interior[d] != 0 && op.operand(0).shape()[static_cast<int>(d)] > 1) return {};
  }
  return {op.operand(0)};
}

// pad(broadcast(s), s) -> broadcast(s)
Replacement pad_of_splat(Instruction& op, Builder& builder) {
  const Instruction* broadcast = match(op.operand(0), Opcode::broadcast_in_dim);
  if (broadcast == nullptr || broadcast->operand(0).shape().rank() != 0) return {};
  if (broadcast->operand(0) != op.operand(1)) {
    const Tensor* a = constant_of(broadcast->operand(0));
    const Tensor* b = constant_of(op.operand(1));
    if (a == nullptr || b == nullptr || !same_element(*a, *b)) return {};
  }
  return {builder.broadcast(op.operand(1), op.shape())};
}

constexpr Rule kConcatenateRulesRules[] = {
    {"concatenate_of_one", Opcode::concatenate, concatenate_of_one},
    {"concatenate_of_empty", Opcode::concatenate, concatenate_of_empty},
    {"concatenate_of_concatenate", Opcode::concatenate, concatenate_of_concatenate},
    {"concatenate_of_neighbours", Opcode::concatenate, concatenate_of_neighbours},
    {"concatenate_of_splats", Opcode::concatenate, concatenate_of_splats},
    {"pad_by_nothing", Opcode::pad, pad_by_nothing},
    {"pad_of_splat", Opcode::pad, pad_of_splat},
};

}  // namespace

std::span<const Rule> concatenate_rules() { return kConcatenateRulesRules; }

}  // namespace systole::hlo
