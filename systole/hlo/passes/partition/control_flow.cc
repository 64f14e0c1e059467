// Loops and branches: all devices take them together.
#include "systole/hlo/passes/partition/partitioner.h"
#include "systole/hlo/passes/partition/rules.h"

namespace systole::hlo::spmd {
namespace {

std::vector<Value> operands_as_results(Partitioner& p, Instruction& x) {
  std::vector<Value> operands;
  for (int i = 0; i < x.num_operands(); ++i) {
    operands.push_back(p.at(x.operand(i), p.layout_of(x.result(i))));
  }
  return operands;
}

std::vector<Value> write_while(Partitioner& p, Instruction& x) {
  return results_of(*p.b().op_with_regions(
      x.opcode(), operands_as_results(p, x), x.attrs(), [&](Instruction& now) {
        p.write_region(x.region(0), now.add_region(), {});
        p.write_region(x.region(1), now.add_region(), results_of(x));
      }));
}

std::vector<Value> write_branches(Partitioner& p, Instruction& x) {
  return results_of(
      *p.b().op_with_regions(x.opcode(), {p.whole(x.operand(0))}, x.attrs(), [&](Instruction& now) {
        for (const auto& region : x.regions()) {
          p.write_region(*region, now.add_region(), results_of(x));
        }
      }));
}

std::vector<Value> write_optimization_barrier(Partitioner& p, Instruction& x) {
  return results_of(*p.b().op(x.opcode(), operands_as_results(p, x), x.attrs()));
}

}  // namespace

ShardingRule shard_while(const Instruction& x) {
  ShardingRule rule = empty_rule(x);
  rule.write = write_while;
  for (const Value& result : results_of(x)) {
    rule.ties.push_back({x.operand(result.index), result, x.region(1).results()[result.index]});
  }
  return rule;
}

ShardingRule shard_branches(const Instruction& x) {
  ShardingRule rule = empty_rule(x);
  rule.write = write_branches;
  for (const Value& result : results_of(x)) {
    std::vector<Value>& tie = rule.ties.emplace_back();
    tie.push_back(result);
    for (const auto& region : x.regions()) tie.push_back(region->results()[result.index]);
  }
  return rule;
}

ShardingRule shard_optimization_barrier(const Instruction& x) {
  ShardingRule rule = empty_rule(x);
  rule.write = write_optimization_barrier;
  for (const Value& result : results_of(x)) {
    rule.ties.push_back({x.operand(result.index), result});
  }
  return rule;
}

}  // namespace systole::hlo::spmd
