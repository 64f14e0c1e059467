// Propagation: chooses a layout for each value of a program.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "systole/hlo/passes/partition/grid.h"
#include "systole/hlo/passes/partition/partition_options.h"
#include "systole/hlo/passes/partition/program.h"
#include "systole/hlo/passes/partition/sharding_rule.h"

namespace systole::hlo::spmd {

// Decides how each value of a program is split over the devices, by Shardy's propagation: starts
// with the shardings that the program gives and passes them on through the ops (along the factors
// of their sharding rules), from operands to results and back, in the order of priorities, until
// nothing changes. It ends because a layout only gains atoms (grid.h), each at most once.
class Placements {
 public:
  // Errors: INVALID_ARGUMENT for shardings that do not fit the types of main and of manual
  // computations.
  Placements(const Program& program, const Grid& grid, const PartitionOptions& options);

  const Layout& layout_of(Value value) const { return at(value).layout; }
  // Returns the layout of result `i` of main, which may differ from that of the value.
  const Layout& layout_of_result(int i) const {
    return at({program_.main().terminator(), i}).layout;
  }
  const ShardingRule& rule_of(const Instruction& x) const { return rules_.at(&x); }
  // Returns the manual axes of a shape change (kToLocal, kToGlobal), by operand or result and axis.
  const std::vector<Layout>& manual_parts(const Instruction& x) const { return manual_.at(&x); }
  // Returns the atoms that are manual where the instruction stands.
  Atoms manual_atoms(const Instruction& x) const;

 private:
  struct Seed {
    Value value;
    int dim;
    Atoms atoms;
    bool open;
    int64_t priority;
  };
  struct Placement {
    Shape shape;
    Layout layout;
    std::vector<bool> closed;
    Atoms reserved;  // not for other axes than those that have them
  };
  using Table = std::unordered_map<Value, Placement, ValueHash>;

  // Values that share a layout are one row of the table: what a loop carries is its result.
  Value canonical(Value value) const;
  const Placement& at(Value value) const { return table_.at(canonical(value)); }
  Placement& at(Value value) { return table_.at(canonical(value)); }

  void add_value(Value value, const Shape& shape, const Atoms& reserved);
  void add_computation(const Computation& computation);
  void add_loop(const Instruction& x);
  void add_shape_change(const Instruction& x);
  void add_main(const PartitionOptions& options);
  void seed(Value value, const Layout& layout, const Sharding& sharding);
  void close(Value value);
  void apply_seeds(int64_t priority);

  // -- unreduced.cc: passes sums that are not added up on, into loops and back through the ops that
  // can compute their terms, before other propagation.
  void spread_unreduced();
  static void set_unreduced(Placement& placement, const Atoms& atoms);
  // Returns the atoms over which a use of operand `k` takes terms; none if the use adds them up.
  // Nothing: the use takes either.
  std::optional<Atoms> wanted_terms(const Instruction& user, int k) const;
  Atoms wanted_terms(Value value) const;
  std::vector<bool> terms_of(const Instruction& x) const;

  // Visits instructions until nothing changes; at first those of elementwise opcodes alone.
  void spread(bool elementwise_only);
  void visit(const Instruction& x);
  void visit_rule(const Instruction& x, const ShardingRule& rule);
  void visit_tie(std::span<const Value> values);
  void visit_shape_change(const Instruction& x);
  void push(const Instruction* x);
  void push_around(Value value);
  // Adds atoms of `wanted` behind those of the axis, as far as they fit.
  void extend(Value value, int dim, const Atoms& wanted);

  const Program& program_;
  const Grid& grid_;
  Table table_;
  ValueMap canonical_;
  std::unordered_map<Value, std::vector<Value>, ValueHash> members_;  // of each canonical value
  std::unordered_map<const Instruction*, ShardingRule> rules_;
  std::unordered_map<const Instruction*, std::vector<Layout>> manual_;
  std::vector<Seed> seeds_;
  std::vector<const Instruction*> order_;
  std::deque<const Instruction*> waiting_;
  std::unordered_set<const Instruction*> is_waiting_;
  bool elementwise_only_ = false;
};

// Returns, by operand, whether it may be a term of a sum so that the result is the term of a sum,
// too. Of the factors of a product only one may: that for which `is_term` holds. Empty if none may.
std::vector<bool> linear_operands(const Instruction& x, const std::function<bool(int)>& is_term);

// Distributes the atoms of an axis over its factors. Atoms behind the first that does not fit are
// left out.
std::vector<Atoms> split_over_factors(const Grid& grid, const Atoms& atoms,
                                      const DimFactors& factors, const ShardingRule& rule);
// The inverse: factors behind the first that is not complete are left out.
Atoms join_factors(const Grid& grid, const DimFactors& factors, const ShardingRule& rule,
                   std::span<const Atoms> atoms_of_factors);

}  // namespace systole::hlo::spmd
