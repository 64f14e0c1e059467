// Writes the program of a device, and the interface of that for the rules of opcodes.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "systole/hlo/passes/partition/partition.h"
#include "systole/hlo/passes/partition/placement.h"
#include "systole/hlo/passes/partition/resharder.h"

namespace systole::hlo::spmd {

// A value of the program ("old") becomes the part that a device has of it.
class Partitioner {
 public:
  Partitioner(const Program& program, const Grid& grid, const Placements& placements,
              const PartitionOptions& options)
      : program_(program),
        grid_(grid),
        placements_(placements),
        options_(options),
        resharder_(grid, options.num_replicas),
        cached_(1) {}

  void write_main(Computation& to);
  // The functions that custom calls name.
  const std::set<std::string>& named_functions() const { return named_functions_; }

  // What calls of InspectSharding asked.
  std::vector<InspectedSharding> take_inspected() { return std::move(inspected_); }

  // -- For rules
  Builder& b() { return *builder_; }
  Resharder& resharder() { return resharder_; }
  const Grid& grid() const { return grid_; }
  const Placements& placements() const { return placements_; }
  // Returns whether the instruction stands in a manual computation.
  bool is_manual(const Instruction& x) const { return program_.scope_of(x) != nullptr; }
  const Layout& layout_of(Value old) const { return placements_.layout_of(old); }
  // Returns the part of an old value in a layout; by default its own, or whole.
  Value at(Value old, const Layout& layout);
  Value at(Value old) { return at(old, layout_of(old)); }
  Value whole(Value old) { return at(old, grid_.replicated(old.shape().rank())); }
  // Returns the part of a value, in the layout of `old`, that has `part` in another.
  Value moved(Value part, const Layout& from, Value old) {
    return resharder_.reshard(b(), part, from, layout_of(old));
  }
  TensorType type_of(Value old) const { return local_type(grid_, old.type(), layout_of(old)); }
  // Asks the caller of partition() how the custom call is computed on parts.
  CustomPartition custom_partition(const Instruction& x) const;
  // Notes how the operand of a call of InspectSharding is split.
  void inspect(const Instruction& x);
  // Writes a region whose parameters have the types of those of `old`, and whose results have the
  // layouts of `results`.
  void write_region(const Computation& old, Computation& to, std::span<const Value> results);
  // Writes the op on parts, with the layouts that its rule allows, and moves the results.
  std::vector<Value> write_by_factors(Instruction& x);

 private:
  using Cache = std::unordered_map<Value, std::vector<std::pair<Layout, Value>>, ValueHash>;

  void write(Instruction& x);
  void write_instructions(const Computation& from);
  void check_allowed(const Instruction& x) const;
  std::vector<Atoms> choose(const Instruction& x, const ShardingRule& rule,
                            const Atoms& taken) const;
  Layout project(const TensorFactors& dims, const ShardingRule& rule,
                 std::span<const Atoms> atoms) const;
  // The atoms over which operands are terms of sums, and so is the result.
  Atoms passed_terms(const Instruction& x, const std::vector<bool>& linear) const;
  // Takes reduced factors that all operands split alike, if the result is not larger than they are.
  bool reduces_first(const Instruction& x, const ShardingRule& rule, int factor) const;
  Value identity(const ShardingRule& rule, const TensorType& type);
  Value combined(Value part, const Atoms& reduced, Opcode combiner, Layout& from, const Layout& to);

  const Program& program_;
  const Grid& grid_;
  const Placements& placements_;
  const PartitionOptions& options_;
  Resharder resharder_;
  std::optional<Builder> builder_;
  ValueMap map_;
  std::vector<Cache> cached_;  // other layouts of old values, by computations around the builder's
  std::set<std::string> named_functions_;
  std::vector<InspectedSharding> inspected_;
};

std::vector<Value> results_of(const Instruction& x);

}  // namespace systole::hlo::spmd
