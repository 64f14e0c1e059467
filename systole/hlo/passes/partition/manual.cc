// What only manual computations have, and the custom calls around them. Collective ops in them meet
// devices along manual axes, or all devices with equal parts along the others.
#include "systole/base/error.h"
#include "systole/hlo/ir/placement.h"
#include "systole/hlo/passes/partition/partitioner.h"
#include "systole/hlo/passes/partition/rules.h"

namespace systole::hlo::spmd {
namespace {

// Operand i and result i are split alike, except along axes for which `whole` holds.
template <class Predicate>
ShardingRule pairs_except(const Instruction& x, const Predicate& whole) {
  ShardingRule rule = empty_rule(x);
  for (int i = 0; i < x.num_results(); ++i) {
    for (int d = 0; d < x.results()[i].shape.rank(); ++d) {
      if (whole(d)) continue;
      rule.operands[i][d] = rule.results[i][d] = {static_cast<int>(rule.factors.size())};
      rule.factors.push_back({x.results()[i].shape[d]});
    }
  }
  return rule;
}

std::vector<Value> write_constraint(Partitioner& p, Instruction& x) {
  return {p.at(x.operand(0), p.layout_of(x.result()))};
}

// A device has the same part before and after, along the manual axes and the others.
std::vector<Value> write_shape_change(Partitioner& p, Instruction& x) {
  const bool to_local = target_of(x) == kToLocal;
  std::vector<Value> results;
  for (int i = 0; i < x.num_results(); ++i) {
    const Layout& manual = p.placements().manual_parts(x)[i];
    Layout wanted = p.layout_of(x.result(i));
    for (size_t d = 0; d < wanted.dims.size(); ++d) {
      Atoms& atoms = wanted.dims[d];
      const auto count = static_cast<int64_t>(manual.dims[d].size());
      if (to_local) {
        atoms.insert(atoms.begin(), manual.dims[d].begin(), manual.dims[d].end());
      } else {
        atoms.erase(atoms.begin(), atoms.begin() + count);
      }
    }
    results.push_back(p.at(x.operand(i), wanted));
  }
  return results;
}

// The first device calls a target with a side effect, and tells the others the results.
std::vector<Value> write_custom_call(Partitioner& p, Instruction& x) {
  if (!x.attrs<CustomCallAttrs>().has_side_effect || p.is_manual(x)) return p.write_by_factors(x);
  Builder& b = p.b();
  std::vector<Value> operands;
  for (const Value& operand : x.operands()) operands.push_back(p.whole(operand));
  const Value device = b.op(Opcode::partition_id, {})->result();
  const Value is_first = b.compare(device, b.scalar(DType::u32, 0), ComparisonDirection::eq);
  const Instruction& called =
      *b.op_with_regions(Opcode::if_, {is_first}, NoAttrs{}, [&](Instruction& now) {
        Computation& calls = now.add_region();
        Builder in_first(calls);
        in_first.set_metadata(x.metadata());
        calls.set_results(results_of(*in_first.op(x.opcode(), operands, x.attrs(),
                                                  {x.results().begin(), x.results().end()})));
        Computation& waits = now.add_region();
        Builder in_others(waits);
        std::vector<Value> nothing;
        for (const TensorType& type : x.results()) {
          const bool is_token = type.dtype == DType::token;
          nothing.push_back(is_token ? in_others.op(Opcode::after_all, {})->result()
                                     : in_others.splat(type, 0));
        }
        waits.set_results(std::move(nothing));
      });
  std::vector<Value> results = results_of(called);
  for (int i = 0; i < x.num_results(); ++i) {
    if (x.results()[i].dtype == DType::token) continue;
    const Value told = p.resharder().from_first_device(b, results[i]);
    results[i] = p.moved(told, p.grid().replicated(told.shape().rank()), x.result(i));
  }
  return results;
}

}  // namespace

ShardingRule shard_collective(const Instruction& x) {
  return pairs_except(x, [](int) { return false; });
}

ShardingRule shard_all_gather(const Instruction& x) {
  return pairs_except(x, [&](int d) { return d == x.attrs<AllGatherAttrs>().all_gather_dim; });
}

ShardingRule shard_all_to_all(const Instruction& x) {
  const auto& attrs = x.attrs<AllToAllAttrs>();
  return pairs_except(
      x, [&](int d) { return d == attrs.split_dimension || d == attrs.concat_dimension; });
}

ShardingRule shard_reduce_scatter(const Instruction& x) {
  return pairs_except(x,
                      [&](int d) { return d == x.attrs<ReduceScatterAttrs>().scatter_dimension; });
}

// Other custom calls get whole arrays.
ShardingRule shard_custom_call(const Instruction& x) {
  const std::string_view target = target_of(x);
  ShardingRule rule = empty_rule(x);
  if (target == kToLocal || target == kToGlobal) {
    rule.write = write_shape_change;
  } else if (is_placement(x)) {
    rule = shard_collective(x);
    if (target == kConstraint) rule.write = write_constraint;
  } else {
    rule.write = write_custom_call;
  }
  return rule;
}

}  // namespace systole::hlo::spmd
