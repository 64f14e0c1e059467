// Broadcasts: composed, removed, and moved after elementwise operations, which then run on fewer
// elements.
#include <algorithm>

#include "systole/hlo/analysis/match.h"
#include "systole/hlo/passes/algebraic_simplifier/rules.h"

namespace systole::hlo {
namespace {

const Dims& dimensions_of(const Instruction& broadcast) {
  return broadcast.attrs<BroadcastInDimAttrs>().broadcast_dimensions;
}

Replacement broadcast_to_same(Instruction& op, Builder&) {
  if (op.operand(0).shape() != op.shape() || !std::ranges::is_sorted(dimensions_of(op))) return {};
  return {op.operand(0)};
}

// A broadcast that neither repeats nor permutes inserts axes of size 1.
Replacement broadcast_as_reshape(Instruction& op, Builder& builder) {
  const Shape& from = op.operand(0).shape();
  const int64_t count = op.shape().num_elements();
  if (count == 0 || from.num_elements() != count) return {};
  if (!std::ranges::is_sorted(dimensions_of(op))) return {};
  return {builder.reshape(op.operand(0), op.shape())};
}

Replacement broadcast_of_broadcast(Instruction& op, Builder& builder) {
  const Instruction* inner = match(op.operand(0), Opcode::broadcast_in_dim);
  if (inner == nullptr) return {};
  Dims dimensions;
  for (const int64_t axis : dimensions_of(*inner)) {
    dimensions.push_back(dimensions_of(op)[axis]);
  }
  return {builder.broadcast_in_dim(inner->operand(0), op.shape(), dimensions)};
}

// If `to` is `from` with inserted axes of size 1, returns the axis in `to` for each axis of `from`.
std::optional<Dims> inserted_units(const Shape& from, const Shape& to) {
  Dims axes;
  for (int axis = 0; axis < to.rank(); ++axis) {
    const int next = static_cast<int>(axes.size());
    if (next < from.rank() && from[next] == to[axis]) {
      axes.push_back(axis);
    } else if (to[axis] != 1) {
      return std::nullopt;
    }
  }
  if (static_cast<int>(axes.size()) != from.rank()) return std::nullopt;
  return axes;
}

// broadcast(reshape(x)) -> broadcast(x), where the reshape inserts axes of size 1.
Replacement broadcast_of_reshape(Instruction& op, Builder& builder) {
  const Instruction* reshape = match(op.operand(0), Opcode::reshape);
  if (reshape == nullptr) return {};
  const Value x = reshape->operand(0);
  const std::optional<Dims> axes = inserted_units(x.shape(), reshape->shape());
  if (!axes) return {};
  Dims dimensions;
  for (const int64_t axis : *axes) {
    dimensions.push_back(dimensions_of(op)[axis]);
  }
  return {builder.broadcast_in_dim(x, op.shape(), dimensions)};
}

Replacement broadcast_of_transpose(Instruction& op, Builder& builder) {
  const Instruction* transpose = match(op.operand(0), Opcode::transpose);
  if (transpose == nullptr) return {};
  const Dims& permutation = transpose->attrs<TransposeAttrs>().permutation;
  Dims dimensions(permutation.size(), 0);
  for (size_t axis = 0; axis < permutation.size(); ++axis) {
    dimensions[permutation[axis]] = dimensions_of(op)[axis];
  }
  return {builder.broadcast_in_dim(transpose->operand(0), op.shape(), dimensions)};
}

// Returns the broadcast on which all operands agree, ignoring broadcasts of scalars unless there
// are only those. Returns nullptr if they differ, or if an operand is neither a broadcast nor a
// scalar.
const Instruction* common_broadcast(const Instruction& op) {
  const Instruction* common = nullptr;
  for (const Value& operand : op.operands()) {
    const Instruction* broadcast = match(operand, Opcode::broadcast_in_dim);
    if (broadcast == nullptr) {
      if (operand.shape().rank() != 0) return nullptr;
    } else if (common == nullptr || common->operand(0).shape().rank() == 0) {
      common = broadcast;
    } else if (broadcast->operand(0).shape().rank() != 0 &&
               (broadcast->operand(0).shape() != common->operand(0).shape() ||
                dimensions_of(*broadcast) != dimensions_of(*common))) {
      return nullptr;
    }
  }
  return common;
}

// op(broadcast(x), broadcast(y)) -> broadcast(op(x, y)). Broadcasts of scalars combine with any.
Replacement elementwise_of_broadcasts(Instruction& op, Builder& builder) {
  if (op.shape().rank() == 0) return {};
  const Instruction* common = common_broadcast(op);
  if (common == nullptr) return {};
  const Shape& small = common->operand(0).shape();
  if (small.num_elements() >= op.shape().num_elements()) return {};
  std::vector<Value> operands;
  for (const Value& operand : op.operands()) {
    const Instruction* broadcast = match(operand, Opcode::broadcast_in_dim);
    Value x = broadcast == nullptr ? operand : broadcast->operand(0);
    if (broadcast != nullptr && x.shape().rank() == 0) x = builder.broadcast(x, small);
    operands.push_back(x);
  }
  const Value result =
      builder.op(op.opcode(), operands, op.attrs(), {TensorType{op.dtype(), small}})->result();
  return {builder.broadcast_in_dim(result, op.shape(), dimensions_of(*common))};
}

constexpr Rule kBroadcastRulesRules[] = {
    {"broadcast_to_same", Opcode::broadcast_in_dim, broadcast_to_same},
    {"broadcast_as_reshape", Opcode::broadcast_in_dim, broadcast_as_reshape},
    {"broadcast_of_broadcast", Opcode::broadcast_in_dim, broadcast_of_broadcast},
    {"broadcast_of_reshape", Opcode::broadcast_in_dim, broadcast_of_reshape},
    {"broadcast_of_transpose", Opcode::broadcast_in_dim, broadcast_of_transpose},
    {"elementwise_of_broadcasts", Subject::having(kElementwise), elementwise_of_broadcasts},
};

}  // namespace

std::span<const Rule> broadcast_rules() { return kBroadcastRulesRules; }

}  // namespace systole::hlo
