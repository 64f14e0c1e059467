// Finds the values of a program that may vary between replicas.
#pragma once

#include <unordered_set>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo::replicas {

// Dataflow analysis that classifies each value as equal on all replicas or varying. Loops are
// iterated to a fixed point. If a loop condition or branch predicate varies, all results of that op
// vary. Holds a reference to the module, which must not change meanwhile.
class Variance {
 public:
  Variance(const Module& module, const std::vector<bool>& varying_parameters, int num_replicas);

  bool varying(Value value) const { return varying_.contains(value); }
  // Returns the number of replicas of all processes.
  int num_replicas() const { return num_replicas_; }
  // Returns whether all operands and captured values are equal on all replicas, and so are the
  // results: a copy of the instruction computes them.
  bool is_uniform(const Instruction& instruction) const;

 private:
  void visit(const Computation& computation);
  void visit(Instruction& instruction);
  void visit_loop(Instruction& loop);
  void visit_branches(Instruction& branches);
  // Tokens never vary: one orders what all replicas do.
  void mark(Value value) {
    if (value.type().dtype != DType::token) varying_.insert(value);
  }
  void mark_all(Instruction& instruction);
  bool any_input(const Instruction& instruction) const;
  static bool calls_apart(const Instruction& instruction);
  // Returns whether the results of an instruction without control flow vary.
  bool varies(const Instruction& instruction) const;

  int num_replicas_;
  std::unordered_set<Value, ValueHash> varying_;
};

}  // namespace systole::hlo::replicas
