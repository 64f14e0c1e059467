#include "systole/hlo/passes/partition/placement.h"

#include <algorithm>
#include <map>
#include <set>

#include "systole/base/error.h"

namespace systole::hlo::spmd {
namespace {

bool has_atom(const Atoms& atoms, int atom) {
  return std::ranges::find(atoms, atom) != atoms.end();
}

bool is_prefix(const Atoms& prefix, const Atoms& atoms) {
  return prefix.size() <= atoms.size() && std::equal(prefix.begin(), prefix.end(), atoms.begin());
}

Atoms joined(Atoms a, const Atoms& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

bool is_shape_change(const Instruction& x) {
  const std::string_view target = target_of(x);
  return target == kToLocal || target == kToGlobal;
}

// Returns pairs of values that must have one sharding: each value of a sharding group with the next
// of that group.
std::vector<std::pair<const Instruction*, std::vector<Value>>> group_ties(
    std::span<const Instruction* const> instructions) {
  std::vector<std::pair<const Instruction*, std::vector<Value>>> ties;
  std::map<std::string_view, const Instruction*> last;
  for (const Instruction* x : instructions) {
    if (target_of(*x) != kConstraint) continue;
    const std::string_view group = attribute_text(*x, "sdy.sharding_group");
    if (group.empty()) continue;
    const auto [row, is_first] = last.try_emplace(group, x);
    if (is_first) continue;
    const Instruction* const other = std::exchange(row->second, x);
    const int rank = other->operand(0).shape().rank();
    if (x->operand(0).shape().rank() != rank) {
      throw invalid_argument("sdy.sharding_group: rank of a value, got {}, expected {}",
                             x->operand(0).shape().rank(), rank);
    }
    const std::vector<Value> tie{other->operand(0), x->operand(0)};
    ties.emplace_back(other, tie);
    ties.emplace_back(x, tie);
  }
  return ties;
}

}  // namespace

std::vector<Atoms> split_over_factors(const Grid& grid, const Atoms& atoms,
                                      const DimFactors& factors, const ShardingRule& rule) {
  std::vector<Atoms> result(factors.size());
  size_t k = 0;
  int64_t left = factors.empty() ? 1 : rule.factors[factors[0]].size;
  for (const int atom : atoms) {
    while (left == 1 && k + 1 < factors.size()) left = rule.factors[factors[++k]].size;
    if (left == 0 || left % grid.size(atom) != 0) break;
    left /= grid.size(atom);
    result[k].push_back(atom);
  }
  return result;
}

Atoms join_factors(const Grid& grid, const DimFactors& factors, const ShardingRule& rule,
                   std::span<const Atoms> atoms_of_factors) {
  Atoms result;
  for (const int factor : factors) {
    const Atoms& atoms = atoms_of_factors[factor];
    result.insert(result.end(), atoms.begin(), atoms.end());
    if (grid.size(atoms) != rule.factors[factor].size) break;
  }
  return result;
}

Placements::Placements(const Program& program, const Grid& grid, const PartitionOptions& options)
    : program_(program), grid_(grid) {
  add_computation(program.main());
  for (const auto& [x, tie] : group_ties(order_)) rules_[x].ties.push_back(tie);
  add_main(options);
  spread_unreduced();
  std::set<int64_t> priorities{0};
  for (const Seed& seed : seeds_) priorities.insert(seed.priority);
  for (const int64_t priority : priorities) {
    apply_seeds(priority);
    spread(true);
    spread(false);
  }
}

Atoms Placements::manual_atoms(const Instruction& x) const {
  Atoms atoms;
  for (const Scope* scope = program_.scope_of(x); scope != nullptr; scope = scope->outer) {
    for (const std::string& axis : scope->axes) {
      atoms = joined(std::move(atoms), grid_.atoms_of(scope->mesh, {.name = axis}));
    }
  }
  return atoms;
}

Value Placements::canonical(Value value) const {
  const auto found = canonical_.find(value);
  return found == canonical_.end() ? value : found->second;
}

// -- The table

void Placements::add_value(Value value, const Shape& shape, const Atoms& reserved) {
  const auto rank = static_cast<size_t>(shape.rank());
  table_[value] = {shape, grid_.replicated(shape.rank()), std::vector<bool>(rank, false), reserved};
}

void Placements::add_computation(const Computation& computation) {
  for (const Instruction* x : computation.instructions()) {
    order_.push_back(x);
    rules_[x] = spmd::rule_of(*x);
    if (x->is(Opcode::parameter) && computation.owner() != nullptr) {
      const Value parameter = computation.parameter(x->attrs<ParameterAttrs>().index);
      if (canonical_.contains(parameter)) continue;
    }
    const Atoms reserved = manual_atoms(*x);
    for (int i = 0; i < x->num_results(); ++i) {
      add_value({const_cast<Instruction*>(x), i}, x->results()[i].shape, reserved);
    }
    if (is_shape_change(*x)) add_shape_change(*x);
    const std::vector<Sharding>& shardings = program_.shardings_of(*x);
    if (target_of(*x) == kConstraint && !shardings.empty()) {
      const Value value{const_cast<Instruction*>(x), 0};
      if (!shardings[0].mesh.is_maximal()) seed(value, grid_.layout_of(shardings[0]), shardings[0]);
    }
    if (x->is(Opcode::while_)) add_loop(*x);
    for (const auto& region : x->regions()) add_computation(*region);
  }
}

void Placements::add_loop(const Instruction& x) {
  for (int i = 0; i < x.num_results(); ++i) {
    const Value carried{const_cast<Instruction*>(&x), i};
    for (const auto& region : x.regions()) {
      canonical_[region->parameter(i)] = carried;
      members_[carried].push_back(region->parameter(i));
    }
  }
}

// The manual axes come first in each axis of the array: what follows splits the body's part of it.
void Placements::add_shape_change(const Instruction& x) {
  const bool to_local = target_of(x) == kToLocal;
  const std::vector<Sharding>& shardings = program_.shardings_of(x);
  const std::vector<std::string> names = program_.manual_axes_of(x);
  if (x.num_operands() != x.num_results() ||
      static_cast<int>(shardings.size()) != x.num_operands()) {
    throw invalid_argument("custom_call: '{}', got {} operands and {} results, expected as many",
                           target_of(x), x.num_operands(), x.num_results());
  }
  std::vector<Layout>& parts = manual_[&x];
  for (int i = 0; i < x.num_operands(); ++i) {
    const Sharding& sharding = shardings[i];
    const Value result{const_cast<Instruction*>(&x), i};
    Layout manual = grid_.replicated(static_cast<int>(sharding.dims.size()));
    Layout free = manual;
    for (size_t d = 0; d < sharding.dims.size(); ++d) {
      for (const AxisRef& axis : sharding.dims[d].axes) {
        const bool is_manual = std::ranges::find(names, axis.name) != names.end();
        if (is_manual && !free.dims[d].empty()) {
          throw invalid_argument(
              "sdy.manual_computation: sharding, got the manual axis \"{}\" behind others, "
              "expected "
              "manual axes first",
              axis.name);
        }
        Atoms& atoms = (is_manual ? manual : free).dims[d];
        atoms = joined(std::move(atoms), grid_.atoms_of(sharding.mesh, axis));
      }
    }
    for (const AxisRef& axis : sharding.unreduced) {
      const bool is_manual = std::ranges::find(names, axis.name) != names.end();
      Atoms& atoms = (is_manual ? manual : free).unreduced;
      atoms = united(atoms, grid_.atoms_of(sharding.mesh, axis));
    }
    const Shape& whole = to_local ? x.operand(i).shape() : x.results()[i].shape;
    const Shape& part = to_local ? x.results()[i].shape : x.operand(i).shape();
    bool fits = whole.rank() == part.rank() && whole.rank() == static_cast<int>(manual.dims.size());
    for (int d = 0; fits && d < whole.rank(); ++d) {
      fits = part[d] * grid_.size(manual.dims[d]) == whole[d];
    }
    if (!fits) {
      throw invalid_argument("sdy.manual_computation: part, got {} of {}, expected that of {}",
                             part, whole, sharding.to_string());
    }
    Placement& placement = at(result);
    for (const std::string& name : names) {
      if (to_local) {
        placement.reserved =
            joined(std::move(placement.reserved), grid_.atoms_of(sharding.mesh, {.name = name}));
      }
    }
    Layout own = free;
    if (!to_local) own.unreduced = united(manual.unreduced, free.unreduced);
    for (size_t d = 0; !to_local && d < own.dims.size(); ++d) {
      own.dims[d] = joined(manual.dims[d], free.dims[d]);
    }
    seed(result, own, sharding);
    parts.push_back(std::move(manual));
  }
}

void Placements::add_main(const PartitionOptions& options) {
  Computation& main = program_.main();
  const auto may = [](const std::vector<bool>& list, size_t i) {
    return i >= list.size() || list[i];
  };
  const auto add = [&](Value value, const std::optional<Sharding>& sharding, bool may_choose,
                       std::string_view what, int i) {
    if (!sharding && !may_choose) close(value);
    if (!sharding || sharding->mesh.is_maximal()) return;
    try {
      sharding->local_shape(at(value).shape);
    } catch (const Error& error) {
      throw error.with_context(fmt::format("{} {} of main", what, i));
    }
    seed(value, grid_.layout_of(*sharding), *sharding);
  };
  for (int i = 0; i < main.num_parameters(); ++i) {
    add(main.parameter(i), program_.parameters()[i], may(options.propagate_to_parameters, i),
        "parameter", i);
  }
  for (int i = 0; i < static_cast<int>(main.results().size()); ++i) {
    const Value result{main.terminator(), i};
    add_value(result, main.results()[i].shape(), {});
    add(result, program_.results()[i], may(options.propagate_to_results, i), "result", i);
  }
}

void Placements::close(Value value) {
  Placement& placement = at(value);
  placement.closed.assign(placement.closed.size(), true);
}

void Placements::set_unreduced(Placement& placement, const Atoms& atoms) {
  placement.layout.unreduced = atoms;
  placement.reserved = joined(std::move(placement.reserved), atoms);
}

// Until its priority comes, an axis with a sharding takes no other.
void Placements::seed(Value value, const Layout& layout, const Sharding& sharding) {
  Placement& placement = at(value);
  set_unreduced(placement, layout.unreduced);
  for (const AxisRef& axis : sharding.replicated) {
    placement.reserved = joined(std::move(placement.reserved), grid_.atoms_of(sharding.mesh, axis));
  }
  for (size_t d = 0; d < layout.dims.size(); ++d) {
    const DimSharding& dim = sharding.dims[d];
    Atoms atoms;
    for (const int atom : layout.dims[d]) {
      const int64_t size = placement.shape[static_cast<int>(d)];
      if (size == 0 || size % (grid_.size(atoms) * grid_.size(atom)) != 0) break;
      atoms.push_back(atom);
    }
    placement.reserved = joined(std::move(placement.reserved), atoms);
    placement.closed[d] = !dim.open || !atoms.empty();
    seeds_.push_back({value, static_cast<int>(d), std::move(atoms), dim.open, dim.priority});
  }
}

void Placements::apply_seeds(int64_t priority) {
  for (const Seed& seed : seeds_) {
    if (seed.priority != priority) continue;
    Placement& placement = at(seed.value);
    placement.layout.dims[seed.dim] = seed.atoms;
    placement.closed[seed.dim] = !seed.open;
    push_around(seed.value);
  }
}

// -- Spreading

void Placements::push(const Instruction* x) {
  if (x->is(Opcode::return_) && x->parent().owner() != nullptr) x = x->parent().owner();
  if (is_waiting_.insert(x).second) waiting_.push_back(x);
}

void Placements::push_around(Value value) {
  const auto push_one = [&](Value v) {
    push(v.def);
    if (v.def->is(Opcode::parameter) && v.def->parent().owner() != nullptr) {
      push(v.def->parent().owner());
    }
    for (const Instruction* user : v.def->users()) push(user);
  };
  push_one(value);
  const auto found = members_.find(value);
  if (found != members_.end()) std::ranges::for_each(found->second, push_one);
}

void Placements::spread(bool elementwise_only) {
  elementwise_only_ = elementwise_only;
  for (const Instruction* x : order_) push(x);
  while (!waiting_.empty()) {
    const Instruction* const x = waiting_.front();
    waiting_.pop_front();
    is_waiting_.erase(x);
    visit(*x);
  }
}

void Placements::visit(const Instruction& x) {
  if (&x == program_.main().terminator()) {
    for (int i = 0; i < x.num_operands(); ++i) {
      const Value tied[] = {x.operand(i), {const_cast<Instruction*>(&x), i}};
      visit_tie(tied);
    }
    return;
  }
  if (manual_.contains(&x)) return visit_shape_change(x);
  const ShardingRule& rule = rules_.at(&x);
  for (const std::vector<Value>& tie : rule.ties) visit_tie(tie);
  if (elementwise_only_ && !x.traits().has(kElementwise)) return;
  if (!rule.factors.empty()) visit_rule(x, rule);
}

void Placements::visit_rule(const Instruction& x, const ShardingRule& rule) {
  std::vector<Atoms> best(rule.factors.size());
  const auto for_each_axis = [&](const auto& function) {
    for (int i = 0; i < x.num_results() + x.num_operands(); ++i) {
      const bool is_result = i < x.num_results();
      const int k = is_result ? i : i - x.num_results();
      const Value value = is_result ? Value{const_cast<Instruction*>(&x), k} : x.operand(k);
      const TensorFactors& dims = is_result ? rule.results[k] : rule.operands[k];
      for (size_t d = 0; d < dims.size(); ++d) {
        if (!dims[d].empty()) function(value, static_cast<int>(d), dims[d]);
      }
    }
  };
  for_each_axis([&](Value value, int d, const DimFactors& factors) {
    const Atoms& atoms = at(value).layout.dims[d];
    if (atoms.empty()) return;
    const std::vector<Atoms> parts = split_over_factors(grid_, atoms, factors, rule);
    for (size_t k = 0; k < factors.size(); ++k) {
      Atoms& chosen = best[factors[k]];
      if (grid_.size(parts[k]) > grid_.size(chosen)) chosen = parts[k];
    }
  });
  for_each_axis([&](Value value, int d, const DimFactors& factors) {
    const Atoms wanted = join_factors(grid_, factors, rule, best);
    if (!wanted.empty()) extend(value, d, wanted);
  });
}

void Placements::visit_tie(std::span<const Value> values) {
  const int rank = at(values[0]).shape.rank();
  for (int d = 0; d < rank; ++d) {
    Atoms best;
    for (const Value& value : values) {
      const Atoms& atoms = at(value).layout.dims[d];
      if (grid_.size(atoms) > grid_.size(best)) best = atoms;
    }
    for (const Value& value : values) extend(value, d, best);
  }
}

void Placements::visit_shape_change(const Instruction& x) {
  const bool to_local = target_of(x) == kToLocal;
  for (int i = 0; i < x.num_operands(); ++i) {
    const Value result{const_cast<Instruction*>(&x), i};
    const Value whole = to_local ? x.operand(i) : result;
    const Value part = to_local ? result : x.operand(i);
    for (int d = 0; d < at(whole).shape.rank(); ++d) {
      const Atoms& manual = manual_.at(&x)[i].dims[d];
      const Atoms outside = at(whole).layout.dims[d];
      if (is_prefix(manual, outside)) {
        extend(part, d,
               Atoms(outside.begin() + static_cast<int64_t>(manual.size()), outside.end()));
      }
      extend(whole, d, joined(manual, at(part).layout.dims[d]));
    }
  }
}

void Placements::extend(Value value, int dim, const Atoms& wanted) {
  Placement& placement = at(value);
  Atoms& atoms = placement.layout.dims[dim];
  if (placement.closed[dim] || wanted.size() <= atoms.size() || !is_prefix(atoms, wanted)) return;
  bool changed = false;
  for (size_t k = atoms.size(); k < wanted.size(); ++k) {
    const int atom = wanted[k];
    const bool taken = has_atom(placement.reserved, atom) ||
                       std::ranges::any_of(placement.layout.dims,
                                           [&](const Atoms& a) { return has_atom(a, atom); });
    const int64_t size = placement.shape[dim];
    if (taken || size == 0 || size % (grid_.size(atoms) * grid_.size(atom)) != 0) break;
    atoms.push_back(atom);
    changed = true;
  }
  if (changed) push_around(canonical(value));
}

}  // namespace systole::hlo::spmd
