// Which values of a program may differ between the replicas that run it.
#pragma once

#include <unordered_set>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo::replicas {

// Follows values from the parameters of main and from replica_id through the program, around loops
// until nothing changes. Where a loop's condition or a branch's predicate differs, all of its
// results do. The module outlives it, unchanged.
class Variance {
 public:
  Variance(const Module& module, const std::vector<bool>& varying_parameters, int num_replicas);

  bool varying(Value value) const { return varying_.contains(value); }
  int num_replicas() const { return num_replicas_; }
  // Every operand and every value that its regions capture is the same on all replicas, and so is
  // what it computes: a copy of it will do.
  bool is_uniform(const Instruction& instruction) const;

 private:
  void visit(const Computation& computation);
  void visit(Instruction& instruction);
  void visit_loop(Instruction& loop);
  void visit_branches(Instruction& branches);
  void visit_collective(Instruction& instruction);
  void mark(Value value) { varying_.insert(value); }
  void mark_all(Instruction& instruction);
  bool any_input(const Instruction& instruction) const;

  int num_replicas_;
  std::unordered_set<Value, ValueHash> varying_;
};

}  // namespace systole::hlo::replicas
