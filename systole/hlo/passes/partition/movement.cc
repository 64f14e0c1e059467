#include <numeric>

#include "systole/hlo/passes/partition/partitioner.h"
#include "systole/hlo/passes/partition/rules.h"

namespace systole::hlo::spmd {
namespace {

// Adds a factor of axis `from` of operand `operand` that is axis `to` of the result.
void pass_axis(ShardingRule& rule, const Instruction& x, int operand, int from, int to) {
  rule.operands[operand][from] = rule.results[0][to] = {static_cast<int>(rule.factors.size())};
  rule.factors.push_back({x.operand(operand).shape()[from]});
}

// Axes for which `whole` holds are split alike in the operands of the result's rank and the result.
template <class Predicate>
ShardingRule pass_axes_if(const Instruction& x, const Predicate& whole) {
  ShardingRule rule = empty_rule(x);
  for (int d = 0; d < x.shape().rank(); ++d) {
    if (!whole(d)) continue;
    const DimFactors factor{static_cast<int>(rule.factors.size())};
    rule.factors.push_back({x.shape()[d]});
    for (TensorFactors& dims : rule.operands) {
      if (dims.size() == rule.results[0].size()) dims[d] = factor;
    }
    rule.results[0][d] = factor;
  }
  return rule;
}

bool same_size(const Instruction& x, int d) { return x.operand(0).shape()[d] == x.shape()[d]; }

Attrs local_slice(const Instruction& x, const LocalTypes& local) {
  SliceAttrs attrs = x.attrs<SliceAttrs>();
  for (int d = 0; d < x.shape().rank(); ++d) {
    if (same_size(x, d)) attrs.limit_indices[d] = local.operands[0].shape[d];
  }
  return attrs;
}

Attrs local_dynamic_slice(const Instruction&, const LocalTypes& local) {
  return DynamicSliceAttrs{local.results[0].shape.dims()};
}

// The first device's part becomes the last one's.
std::vector<Value> write_reverse(Partitioner& p, Instruction& x) {
  const Layout& layout = p.layout_of(x.result());
  Builder& b = p.b();
  const Value part =
      b.op(x.opcode(), {p.at(x.operand(0), layout)}, x.attrs(), {p.type_of(x.result())})->result();
  Atoms mirrored;
  for (const int64_t d : x.attrs<DimensionsAttrs>().dimensions) {
    mirrored = united(mirrored, layout.dims[d]);
  }
  return {p.resharder().mirror(b, part, mirrored)};
}

}  // namespace

// An axis that the operand lacks, or has with size 1, belongs to the result alone.
ShardingRule shard_broadcast_in_dim(const Instruction& x) {
  ShardingRule rule = empty_rule(x);
  const Dims& places = x.attrs<BroadcastInDimAttrs>().broadcast_dimensions;
  for (int d = 0; d < x.shape().rank(); ++d) {
    rule.results[0][d] = {d};
    rule.factors.push_back({x.shape()[d]});
  }
  for (size_t i = 0; i < places.size(); ++i) {
    const auto to = static_cast<int>(places[i]);
    if (x.operand(0).shape()[static_cast<int>(i)] == x.shape()[to]) rule.operands[0][i] = {to};
  }
  return rule;
}

ShardingRule shard_concatenate(const Instruction& x) {
  const int64_t dimension = x.attrs<ConcatenateAttrs>().dimension;
  return pass_axes_if(x, [&](int d) { return d != dimension; });
}

// The start of an axis that is taken whole is 0, whatever the operand says.
ShardingRule shard_dynamic_slice(const Instruction& x) {
  ShardingRule rule = pass_axes_if(x, [&](int d) { return same_size(x, d); });
  rule.localize = local_dynamic_slice;
  return rule;
}

ShardingRule shard_dynamic_update_slice(const Instruction& x) {
  return pass_axes_if(x, [&](int d) { return x.operand(1).shape()[d] == x.shape()[d]; });
}

ShardingRule shard_pad(const Instruction& x) {
  const auto& attrs = x.attrs<PadAttrs>();
  return pass_axes_if(x, [&](int d) {
    return attrs.edge_padding_low[d] == 0 && attrs.edge_padding_high[d] == 0 &&
           attrs.interior_padding[d] == 0;
  });
}

// Walks both shapes from the left: the greatest common divisor of what is left of two axes is a
// factor of both. If neither divides the other (6 x 4 to 4 x 6), the rest is whole up to where the
// products of the sizes meet.
ShardingRule shard_reshape(const Instruction& x) {
  ShardingRule rule = empty_rule(x);
  const Shape& from = x.operand(0).shape();
  const Shape& to = x.shape();
  if (from.num_elements() == 0) return rule;
  int i = 0;
  int j = 0;
  int64_t a = 1;  // what is left of the axis before i
  int64_t b = 1;
  while (true) {
    while (a == 1 && i < from.rank()) a = from[i++];
    while (b == 1 && j < to.rank()) b = to[j++];
    if (a == 1 || b == 1) return rule;
    const int64_t common = std::gcd(a, b);
    if (common > 1) {
      rule.operands[0][i - 1].push_back(static_cast<int>(rule.factors.size()));
      rule.results[0][j - 1].push_back(static_cast<int>(rule.factors.size()));
      rule.factors.push_back({common});
    }
    if (common == std::min(a, b)) {
      a /= common;
      b /= common;
      continue;
    }
    while (a != b) (a < b ? a : b) *= a < b ? from[i++] : to[j++];
    a = b = 1;
  }
}

ShardingRule shard_reverse(const Instruction& x) {
  ShardingRule rule = pass_axes_if(x, [](int) { return true; });
  rule.write = write_reverse;
  return rule;
}

ShardingRule shard_slice(const Instruction& x) {
  ShardingRule rule = pass_axes_if(x, [&](int d) { return same_size(x, d); });
  rule.localize = local_slice;
  return rule;
}

ShardingRule shard_transpose(const Instruction& x) {
  ShardingRule rule = empty_rule(x);
  const Dims& permutation = x.attrs<TransposeAttrs>().permutation;
  for (int d = 0; d < x.shape().rank(); ++d) {
    pass_axis(rule, x, 0, static_cast<int>(permutation[d]), d);
  }
  return rule;
}

}  // namespace systole::hlo::spmd
