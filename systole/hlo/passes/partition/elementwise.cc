#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::spmd {

ShardingRule empty_rule(const Instruction& x) {
  ShardingRule rule;
  for (const Value& operand : x.operands()) {
    rule.operands.emplace_back(static_cast<size_t>(operand.shape().rank()));
  }
  for (const TensorType& type : x.results()) {
    rule.results.emplace_back(static_cast<size_t>(type.shape.rank()));
  }
  return rule;
}

ShardingRule rule_of(const Instruction& x) {
  const auto is_quantized = [](const TensorType& type) { return type.is_quantized(); };
  const bool quantized =
      std::ranges::any_of(x.results(), is_quantized) ||
      std::ranges::any_of(x.operands(), [&](Value v) { return is_quantized(v.type()); });
  if (quantized) return empty_rule(x);
  const auto shard = semantics_of(x.opcode()).shard;
  if (shard != nullptr) return shard(x);
  return x.traits().has(kElementwise) ? shard_alike(x) : empty_rule(x);
}

namespace {

// Gives axis `d` of all operands and results of rank `rank` the factor d, for the axes before
// `end`.
void tie_axes(ShardingRule& rule, const Shape& shape, int end) {
  for (int d = 0; d < end; ++d) {
    const auto factor = static_cast<int>(rule.factors.size());
    rule.factors.push_back({shape[d]});
    for (std::vector<TensorFactors>* tensors : {&rule.operands, &rule.results}) {
      for (TensorFactors& dims : *tensors) {
        if (dims.size() == static_cast<size_t>(shape.rank())) dims[d] = {factor};
      }
    }
  }
}

}  // namespace

ShardingRule shard_alike(const Instruction& x) {
  ShardingRule rule = empty_rule(x);
  if (x.num_results() > 0) tie_axes(rule, x.shape(), x.shape().rank());
  return rule;
}

// The last axis of one side may hold the parts of the other's elements.
ShardingRule shard_bitcast_convert(const Instruction& x) {
  ShardingRule rule = empty_rule(x);
  const int rank = std::min(x.shape().rank(), x.operand(0).shape().rank());
  for (int d = 0; d < rank; ++d) {
    rule.factors.push_back({x.shape()[d]});
    rule.operands[0][d] = rule.results[0][d] = {d};
  }
  return rule;
}

// Features are independent of each other.
ShardingRule shard_batch_norm(const Instruction& x) {
  ShardingRule rule = empty_rule(x);
  const int64_t feature = x.attrs<BatchNormAttrs>().feature_index;
  rule.factors.push_back({x.operand(0).shape()[static_cast<int>(feature)]});
  for (std::vector<TensorFactors>* tensors : {&rule.operands, &rule.results}) {
    for (TensorFactors& dims : *tensors) dims[dims.size() == 1 ? 0 : feature] = {0};
  }
  return rule;
}

}  // namespace systole::hlo::spmd
