// Static slices.
#include <algorithm>

#include "systole/hlo/analysis/match.h"
#include "systole/hlo/passes/algebraic_simplifier/rules.h"

namespace systole::hlo {
namespace {

Replacement slice_of_everything(Instruction& op, Builder&) {
  if (op.operand(0).shape() != op.shape()) return {};
  return {op.operand(0)};
}

Replacement slice_of_slice(Instruction& op, Builder& builder) {
  const Instruction* inner = match(op.operand(0), Opcode::slice);
  if (inner == nullptr) return {};
  const auto& outer_attrs = op.attrs<SliceAttrs>();
  const auto& inner_attrs = inner->attrs<SliceAttrs>();
  SliceAttrs attrs;
  for (size_t d = 0; d < inner_attrs.start_indices.size(); ++d) {
    const int64_t count = op.shape()[static_cast<int>(d)];
    // A single element may have any stride, and two large strides must not be multiplied.
    const int64_t stride = count > 1 ? inner_attrs.strides[d] * outer_attrs.strides[d] : 1;
    const int64_t start = count == 0 ? 0
                                     : inner_attrs.start_indices[d] +
                                           outer_attrs.start_indices[d] * inner_attrs.strides[d];
    attrs.start_indices.push_back(start);
    attrs.limit_indices.push_back(count == 0 ? 0 : start + (count - 1) * stride + 1);
    attrs.strides.push_back(stride);
  }
  return {
      builder.slice(inner->operand(0), attrs.start_indices, attrs.limit_indices, attrs.strides)};
}

// slice(broadcast(x)) -> broadcast(slice(x))
Replacement slice_of_broadcast(Instruction& op, Builder& builder) {
  const Instruction* broadcast = match(op.operand(0), Opcode::broadcast_in_dim);
  if (broadcast == nullptr) return {};
  const Value x = broadcast->operand(0);
  const Dims& to = broadcast->attrs<BroadcastInDimAttrs>().broadcast_dimensions;
  const auto& [start, limit, strides] = op.attrs<SliceAttrs>();
  SliceAttrs small;
  bool whole = true;
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    const auto d = static_cast<size_t>(to[axis]);
    const bool repeated = x.shape()[axis] == 1;
    whole = whole && (repeated || op.shape()[static_cast<int>(d)] == x.shape()[axis]);
    small.start_indices.push_back(repeated ? 0 : start[d]);
    small.limit_indices.push_back(repeated ? 1 : limit[d]);
    small.strides.push_back(repeated ? 1 : strides[d]);
  }
  const Value part =
      whole ? x : builder.slice(x, small.start_indices, small.limit_indices, small.strides);
  return {builder.broadcast_in_dim(part, op.shape(), to)};
}

// A slice within one operand of a concatenation is a slice of that operand.
Replacement slice_of_concatenate(Instruction& op, Builder& builder) {
  const Instruction* concatenate = match(op.operand(0), Opcode::concatenate);
  if (concatenate == nullptr) return {};
  const int64_t axis = concatenate->attrs<ConcatenateAttrs>().dimension;
  const auto d = static_cast<size_t>(axis);
  SliceAttrs attrs = op.attrs<SliceAttrs>();
  int64_t begin = 0;
  for (const Value& part : concatenate->operands()) {
    const int64_t end = begin + part.shape()[static_cast<int>(axis)];
    if (attrs.start_indices[d] >= begin && attrs.limit_indices[d] <= end) {
      attrs.start_indices[d] -= begin;
      attrs.limit_indices[d] -= begin;
      return {builder.slice(part, attrs.start_indices, attrs.limit_indices, attrs.strides)};
    }
    begin = end;
  }
  return {};
}

constexpr Rule kSliceRulesRules[] = {
    {"slice_of_everything", Opcode::slice, slice_of_everything},
    {"slice_of_slice", Opcode::slice, slice_of_slice},
    {"slice_of_broadcast", Opcode::slice, slice_of_broadcast},
    {"slice_of_concatenate", Opcode::slice, slice_of_concatenate},
};

}  // namespace

std::span<const Rule> slice_rules() { return kSliceRulesRules; }

}  // namespace systole::hlo
