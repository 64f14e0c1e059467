#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/semantics/checks.h"

namespace systole::hlo::spmd {
namespace {

// Gives axis `from` of the first `inputs` operands and axis `to` of all results the same factor.
void tie_windows(ShardingRule& rule, const Instruction& x, int inputs, int from, int to) {
  const DimFactors factor{static_cast<int>(rule.factors.size())};
  rule.factors.push_back({x.operand(0).shape()[from]});
  for (int i = 0; i < inputs; ++i) rule.operands[i][from] = factor;
  for (TensorFactors& dims : rule.results) dims[to] = factor;
}

// Whether the window does not move along the axis: one element, all of them in place.
bool is_trivial(const WindowAttrs& attrs, int d) {
  const auto is = [d](const Dims& values, int64_t value) {
    return values.empty() || values[d] == value;
  };
  return is(attrs.window_dimensions, 1) && is(attrs.window_strides, 1) &&
         is(attrs.base_dilations, 1) && is(attrs.window_dilations, 1) &&
         (attrs.padding.empty() || attrs.padding[d] == std::pair<int64_t, int64_t>());
}

// Whether parts can be reduced from the op's identity: E8M0 has no 0, and complex numbers no order.
bool is_combiner(Opcode opcode, DType dtype) {
  const OpcodeTraits& row = traits(opcode);
  if (dtype == DType::f8e8m0fnu && opcode == Opcode::add) return false;
  if (is_complex(dtype) && (opcode == Opcode::maximum || opcode == Opcode::minimum)) return false;
  return row.has(kCommutative) && row.has(kAssociative);
}

}  // namespace

// Parts of the reduced axes are reduced from the identity and combined if the reducer is one op
// with an identity.
ShardingRule shard_reduce(const Instruction& x) {
  ShardingRule rule = empty_rule(x);
  const Dims& reduced = x.attrs<DimensionsAttrs>().dimensions;
  const int inputs = x.num_operands() / 2;
  const Shape& shape = x.operand(0).shape();
  int to = 0;
  for (const int64_t d : other_axes(shape.rank(), reduced)) {
    tie_windows(rule, x, inputs, static_cast<int>(d), to++);
  }
  const std::optional<Opcode> reducer = inputs == 1 ? match_reducer(x.region()) : std::nullopt;
  const bool same_type = x.dtype() == x.operand(0).dtype() && x.dtype() == x.operand(1).dtype();
  if (!reducer || !is_combiner(*reducer, x.dtype()) || !same_type) return rule;
  rule.combiner = reducer;
  rule.initial = 1;
  for (const int64_t d : reduced) {
    rule.operands[0][d] = {static_cast<int>(rule.factors.size())};
    rule.factors.push_back({.size = shape[static_cast<int>(d)], .reduced = true});
  }
  return rule;
}

ShardingRule shard_reduce_window(const Instruction& x) {
  ShardingRule rule = empty_rule(x);
  for (int d = 0; d < x.shape().rank(); ++d) {
    if (is_trivial(x.attrs<WindowAttrs>(), d)) tie_windows(rule, x, x.num_operands() / 2, d, d);
  }
  return rule;
}

ShardingRule shard_select_and_scatter(const Instruction& x) {
  ShardingRule rule = empty_rule(x);
  for (int d = 0; d < x.shape().rank(); ++d) {
    if (is_trivial(x.attrs<WindowAttrs>(), d)) tie_windows(rule, x, 2, d, d);
  }
  return rule;
}

ShardingRule shard_sort(const Instruction& x) {
  ShardingRule rule = empty_rule(x);
  const int rank = x.shape().rank();
  const int64_t dimension = x.attrs<SortAttrs>().dimension;
  const int64_t sorted = dimension < 0 ? dimension + rank : dimension;
  for (int d = 0; d < rank; ++d) {
    if (d != sorted) tie_windows(rule, x, x.num_operands(), d, d);
  }
  return rule;
}

}  // namespace systole::hlo::spmd
