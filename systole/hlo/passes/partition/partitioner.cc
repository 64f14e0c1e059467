#include "systole/hlo/passes/partition/partitioner.h"

#include <algorithm>

#include "systole/base/error.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/ir/callees.h"
#include "systole/hlo/ir/placement.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::spmd {
namespace {

// Whether a collective op meets other replicas of its own partition only, which have parts like its
// own.
bool meets_replicas_only(const Instruction& x) {
  return std::visit(
      []<class A>(const A& attrs) {
        if constexpr (std::is_same_v<A, TransferAttrs>) {
          return false;
        } else if constexpr (requires { attrs.groups.channel_handle; }) {
          return attrs.groups.channel_handle.handle <= 0;
        } else if constexpr (requires { attrs.channel_handle; }) {
          return attrs.channel_handle.handle <= 0;
        } else {
          return false;
        }
      },
      x.attrs());
}

}  // namespace

std::vector<Value> results_of(const Instruction& x) {
  std::vector<Value> results;
  for (int i = 0; i < x.num_results(); ++i) results.push_back({const_cast<Instruction*>(&x), i});
  return results;
}

Value Partitioner::at(Value old, const Layout& layout) {
  const Value own = map_.at(old);
  const Layout& from = layout_of(old);
  if (from == layout) return own;
  for (const Cache& cache : cached_) {
    const auto found = cache.find(old);
    if (found == cache.end()) continue;
    for (const auto& [known, value] : found->second) {
      if (known == layout) return value;
    }
  }
  const Value value = resharder_.reshard(b(), own, from, layout);
  cached_.back()[old].emplace_back(layout, value);
  return value;
}

void Partitioner::write_main(Computation& to) {
  builder_.emplace(to);
  const Computation& main = program_.main();
  for (int i = 0; i < main.num_parameters(); ++i) {
    const Value old = main.parameter(i);
    map_[old] = to.add_parameter(type_of(old), old.def->metadata());
  }
  write_instructions(main);
  std::vector<Value> results;
  for (int i = 0; i < static_cast<int>(main.results().size()); ++i) {
    results.push_back(at(main.results()[i], placements_.layout_of_result(i)));
  }
  to.set_results(std::move(results));
}

void Partitioner::write_region(const Computation& old, Computation& to,
                               std::span<const Value> results) {
  const Builder outer = *builder_;
  builder_.emplace(to);
  cached_.emplace_back();
  for (int i = 0; i < old.num_parameters(); ++i) {
    const Value parameter = old.parameter(i);
    map_[parameter] = to.add_parameter(type_of(parameter), parameter.def->metadata());
  }
  write_instructions(old);
  std::vector<Value> values;
  for (size_t i = 0; i < results.size(); ++i) {
    values.push_back(at(old.results()[i], layout_of(results[i])));
  }
  if (results.empty()) {
    for (const Value& result : old.results()) values.push_back(whole(result));
  }
  to.set_results(std::move(values));
  cached_.pop_back();
  builder_ = outer;
}

void Partitioner::write_instructions(const Computation& from) {
  for (Instruction* x : from.instructions()) {
    if (!x->is(Opcode::parameter) && x != from.terminator()) write(*x);
  }
}

void Partitioner::write(Instruction& x) {
  check_allowed(x);
  const Metadata around = b().metadata();
  b().set_metadata(x.metadata());
  for (const std::string& name : callees(x.attrs())) named_functions_.insert(name);
  const auto own = placements_.rule_of(x).write;
  const std::vector<Value> results = own != nullptr ? own(*this, x) : write_by_factors(x);
  for (int i = 0; i < x.num_results(); ++i) map_[x.result(i)] = results[i];
  b().set_metadata(around);
}

CustomPartition Partitioner::custom_partition(const Instruction& x) const {
  if (!options_.custom_partitioner) {
    throw unimplemented("custom_call '{}': got no client that computes its parts, {}",
                        kCustomPartitioning, x.describe());
  }
  const ShardingRule& rule = placements_.rule_of(x);
  const std::vector<Atoms> chosen = choose(x, rule, {});
  std::vector<Sharding> operands;
  std::vector<Sharding> results;
  for (const TensorFactors& dims : rule.operands) {
    operands.push_back(grid_.sharding_of(project(dims, rule, chosen)));
  }
  for (const TensorFactors& dims : rule.results) {
    results.push_back(grid_.sharding_of(project(dims, rule, chosen)));
  }
  return options_.custom_partitioner(x, operands, results);
}

void Partitioner::inspect(const Instruction& x) {
  const std::string& key = x.attrs<CustomCallAttrs>().backend_config.text;
  inspected_.push_back({key, grid_.sharding_of(layout_of(x.operand(0)))});
}

void Partitioner::check_allowed(const Instruction& x) const {
  const bool meets_others = x.is(Opcode::partition_id) || x.traits().has(kSideEffect);
  if (!meets_others || placements_.rule_of(x).write != nullptr) return;
  if (program_.scope_of(x) != nullptr || meets_replicas_only(x)) return;
  throw unimplemented(
      "{}: in a program for several partitions, got one outside of manual computations, expected "
      "it "
      "within one, {}",
      x.opcode(), x.describe());
}

Layout Partitioner::project(const TensorFactors& dims, const ShardingRule& rule,
                            std::span<const Atoms> atoms) const {
  Layout layout;
  for (const DimFactors& factors : dims) {
    layout.dims.push_back(join_factors(grid_, factors, rule, atoms));
  }
  return layout;
}

// The results' layouts come first, then those of the operands, large ones first. A factor that only
// operands split is taken from an operand that is at least as large as the result: it would be
// larger to gather before.
std::vector<Atoms> Partitioner::choose(const Instruction& x, const ShardingRule& rule,
                                       const Atoms& taken) const {
  std::vector<Atoms> chosen(rule.factors.size());
  Atoms used = taken;
  const auto take = [&](const Layout& layout, const TensorFactors& dims, bool reduced_only) {
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].empty() || layout.dims[d].empty()) continue;
      const std::vector<Atoms> parts = split_over_factors(grid_, layout.dims[d], dims[d], rule);
      for (size_t k = 0; k < parts.size(); ++k) {
        const int factor = dims[d][k];
        if (!chosen[factor].empty() || (reduced_only && !rule.factors[factor].reduced)) continue;
        for (const int atom : parts[k]) {
          if (std::ranges::find(used, atom) != used.end()) break;
          chosen[factor].push_back(atom);
          used.push_back(atom);
        }
      }
    }
  };
  for (int i = 0; i < x.num_operands(); ++i) {
    for (size_t d = 0; d < rule.operands[i].size(); ++d) {
      const DimFactors& factors = rule.operands[i][d];
      if (factors.size() != 1 || !reduces_first(x, rule, factors[0])) continue;
      const Atoms& atoms = layout_of(x.operand(i)).dims[d];
      if (common(atoms, taken).empty()) chosen[factors[0]] = atoms;
    }
  }
  for (const Atoms& atoms : chosen) used.insert(used.end(), atoms.begin(), atoms.end());
  int64_t largest = 0;
  for (const Value& result : results_of(x)) {
    take(layout_of(result), rule.results[result.index], false);
    largest = std::max(largest, result.shape().num_elements());
  }
  std::vector<int> order;
  for (int i = 0; i < x.num_operands(); ++i) order.push_back(i);
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](int i) { return x.operand(i).shape().num_elements(); });
  for (const int i : order) {
    const bool smaller = x.operand(i).shape().num_elements() < largest;
    take(layout_of(x.operand(i)), rule.operands[i], smaller);
  }
  // A minor factor of an axis can be split only if the major ones are split into single elements.
  bool changed = true;
  const auto check = [&](const TensorFactors& dims) {
    for (const DimFactors& factors : dims) {
      bool complete = true;
      for (const int factor : factors) {
        if (!complete && !chosen[factor].empty()) {
          chosen[factor].clear();
          changed = true;
        }
        complete = complete && grid_.size(chosen[factor]) == rule.factors[factor].size;
      }
    }
  };
  while (std::exchange(changed, false)) {
    std::ranges::for_each(rule.operands, check);
    std::ranges::for_each(rule.results, check);
  }
  return chosen;
}

bool Partitioner::reduces_first(const Instruction& x, const ShardingRule& rule, int factor) const {
  if (!rule.factors[factor].reduced || rule.initial >= 0) return false;
  std::optional<Atoms> alike;
  int64_t elements = 0;
  for (int i = 0; i < x.num_operands(); ++i) {
    for (size_t d = 0; d < rule.operands[i].size(); ++d) {
      if (rule.operands[i][d] != DimFactors{factor}) continue;
      const Atoms& atoms = layout_of(x.operand(i)).dims[d];
      if (atoms.empty() || (alike && *alike != atoms)) return false;
      alike = atoms;
      elements += x.operand(i).shape().num_elements();
    }
  }
  return alike && x.shape().num_elements() <= elements;
}

// Adds up the parts. If the result shall be split along one axis by just these atoms, each device
// gets its part of the sum alone.
Value Partitioner::combined(Value part, const Atoms& reduced, Opcode combiner, Layout& from,
                            const Layout& to) {
  for (size_t d = 0; d < to.dims.size(); ++d) {
    Atoms split = from.dims[d];
    split.insert(split.end(), reduced.begin(), reduced.end());
    if (split != to.dims[d]) continue;
    from.dims[d] = std::move(split);
    return resharder_.reduce_scatter(b(), part, reduced, static_cast<int64_t>(d), combiner);
  }
  return resharder_.all_reduce(b(), part, reduced, combiner);
}

Value Partitioner::identity(const ShardingRule& rule, const TensorType& type) {
  return b().broadcast_in_dim(b().identity(*rule.combiner, type.dtype), type.shape, {});
}

Atoms Partitioner::passed_terms(const Instruction& x, const std::vector<bool>& linear) const {
  Atoms atoms;
  for (size_t i = 0; i < linear.size(); ++i) {
    if (linear[i]) atoms = united(atoms, layout_of(x.operand(static_cast<int>(i))).unreduced);
  }
  return common(atoms, layout_of(results_of(x)[0]).unreduced);
}

std::vector<Value> Partitioner::write_by_factors(Instruction& x) {
  const ShardingRule& rule = placements_.rule_of(x);
  const bool gives_terms = x.num_results() == 1 && !layout_of(x.result()).unreduced.empty();
  std::vector<bool> linear;
  if (gives_terms) {
    linear = linear_operands(x, [&](int i) { return !layout_of(x.operand(i)).unreduced.empty(); });
  }
  const Atoms passed = linear.empty() ? Atoms() : passed_terms(x, linear);
  const std::vector<Atoms> chosen = choose(x, rule, passed);
  Atoms reduced;
  for (size_t f = 0; f < chosen.size(); ++f) {
    if (rule.factors[f].reduced) reduced.insert(reduced.end(), chosen[f].begin(), chosen[f].end());
  }
  // What the result need not have added up.
  Atoms kept;
  if (gives_terms && rule.combiner == Opcode::add) {
    kept = common(reduced, layout_of(x.result()).unreduced);
  }
  const Atoms summed = without(reduced, kept);
  LocalTypes local;
  std::vector<Value> operands;
  for (int i = 0; i < x.num_operands(); ++i) {
    Layout layout = project(rule.operands[i], rule, chosen);
    if (!linear.empty() && linear[i]) layout.unreduced = passed;
    local.operands.push_back(local_type(grid_, x.operand(i).type(), layout));
    const bool is_initial = i == rule.initial && !reduced.empty();
    operands.push_back(is_initial ? identity(rule, local.operands[i]) : at(x.operand(i), layout));
  }
  std::vector<Layout> layouts;
  for (int i = 0; i < x.num_results(); ++i) {
    layouts.push_back(project(rule.results[i], rule, chosen));
    layouts[i].unreduced = united(passed, kept);
    local.results.push_back(local_type(grid_, x.results()[i], layouts[i]));
  }
  ValueMap map;
  for (const Value& captured : captures(x)) map[captured] = whole(captured);
  const Instruction* const written = b().op_with_regions(
      x.opcode(), operands, rule.localize == nullptr ? x.attrs() : rule.localize(x, local),
      [&](Instruction& now) {
        for (const auto& region : x.regions()) now.add_region().clone_from(*region, map);
      },
      local.results);
  std::vector<Value> results = results_of(*written);
  for (int i = 0; i < x.num_results(); ++i) {
    if (!summed.empty()) {
      const Layout& wanted = rule.initial >= 0 ? layouts[i] : layout_of(x.result(i));
      results[i] = combined(results[i], summed, *rule.combiner, layouts[i], wanted);
    }
    if (!reduced.empty() && rule.initial >= 0) {
      Layout layout = project(rule.operands[rule.initial], rule, chosen);
      layout.unreduced = layouts[i].unreduced;
      const Value initial = at(x.operand(rule.initial), layout);
      results[i] =
          b().binary(*rule.combiner, b().broadcast(initial, results[i].shape()), results[i]);
    }
    results[i] = moved(results[i], layouts[i], x.result(i));
  }
  return results;
}

}  // namespace systole::hlo::spmd
