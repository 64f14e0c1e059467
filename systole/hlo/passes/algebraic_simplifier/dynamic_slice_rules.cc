// Slices at computed starts that turn out to be constant.
#include <algorithm>

#include "systole/hlo/analysis/match.h"
#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/semantics/index.h"

namespace systole::hlo {
namespace {

// Clamps a start index as dynamic_slice and gather do.
int64_t clamped(int64_t start, int64_t size, int64_t slice_size) {
  return std::clamp<int64_t>(start, 0, size - slice_size);
}

Value slice_at(Builder& builder, Value x, const Dims& start, const Dims& sizes) {
  Dims limit;
  for (size_t d = 0; d < start.size(); ++d) limit.push_back(start[d] + sizes[d]);
  return builder.slice(x, start, limit);
}

// A slice of a whole axis starts at 0, whatever the index.
Replacement dynamic_slice_at_constants(Instruction& op, Builder& builder) {
  const Value x = op.operand(0);
  const Dims& sizes = op.attrs<DynamicSliceAttrs>().slice_sizes;
  Dims start;
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    const int64_t size = sizes[axis];
    const Tensor* index = constant_of(op.operand(axis + 1));
    if (index == nullptr && size != x.shape()[axis]) return {};
    const int64_t wanted = index == nullptr ? 0 : index_values(*index)[0];
    start.push_back(clamped(wanted, x.shape()[axis], size));
  }
  return {slice_at(builder, x, start, sizes)};
}

Replacement update_of_everything(Instruction& op, Builder&) {
  if (op.operand(1).shape() != op.shape()) return {};
  return {op.operand(1)};
}

// dynamic_update_slice(x, dynamic_slice(x, i), i) -> x
Replacement update_by_own_slice(Instruction& op, Builder&) {
  const Instruction* slice = match(op.operand(1), Opcode::dynamic_slice);
  if (slice == nullptr || slice->operand(0) != op.operand(0)) return {};
  if (!std::ranges::equal(slice->operands().subspan(1), op.operands().subspan(2))) return {};
  return {op.operand(0)};
}

// x + dynamic_update_slice(0, y, i) -> dynamic_update_slice(x, dynamic_slice(x, i) + y, i), if x +
// 0 == x bit for bit. Sums of gradients of slices then touch only the slices.
Replacement add_of_update(Instruction& op, Builder& builder) {
  for (const int side : {0, 1}) {
    const Instruction* update = match(op.operand(side), Opcode::dynamic_update_slice);
    if (update == nullptr) continue;
    const auto neutral = right_neutral(Opcode::add, op.dtype());
    const Tensor* zeros = splat_of(update->operand(0));
    if (zeros == nullptr || !neutral || !same_element(*zeros, *neutral)) continue;
    const Value x = op.operand(1 - side);
    const Value y = update->operand(1);
    const auto starts = update->operands().subspan(2);
    const Value sum = builder.add(builder.dynamic_slice(x, starts, y.shape().dims()), y);
    return {builder.dynamic_update_slice(x, sum, starts)};
  }
  return {};
}

// A gather of one slice at a constant start. All batch axes of the result have size 1, so the
// slice's elements are the result's, in order.
Replacement gather_at_constant(Instruction& op, Builder& builder) {
  const auto& attrs = op.attrs<GatherAttrs>();
  const Tensor* indices = constant_of(op.operand(1));
  if (indices == nullptr || !attrs.operand_batching_dims.empty()) return {};
  if (indices->num_elements() != static_cast<int64_t>(attrs.start_index_map.size())) return {};
  // Index vectors of length 0 may stand for any number of slices.
  if (Shape(attrs.slice_sizes).num_elements() != op.shape().num_elements()) return {};
  const Value x = op.operand(0);
  const std::vector<int64_t> wanted = index_values(*indices);
  Dims start(attrs.slice_sizes.size(), 0);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto axis = static_cast<size_t>(attrs.start_index_map[i]);
    start[axis] = clamped(wanted[i], x.shape()[static_cast<int>(axis)], attrs.slice_sizes[axis]);
  }
  return {builder.reshape(slice_at(builder, x, start, attrs.slice_sizes), op.shape())};
}

constexpr Rule kDynamicSliceRulesRules[] = {
    {"dynamic_slice_at_constants", Opcode::dynamic_slice, dynamic_slice_at_constants},
    {"update_of_everything", Opcode::dynamic_update_slice, update_of_everything},
    {"update_by_own_slice", Opcode::dynamic_update_slice, update_by_own_slice},
    {"add_of_update", Opcode::add, add_of_update},
    {"gather_at_constant", Opcode::gather, gather_at_constant},
};

}  // namespace

std::span<const Rule> dynamic_slice_rules() { return kDynamicSliceRulesRules; }

}  // namespace systole::hlo
