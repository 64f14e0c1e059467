// When each value of a program is alive, on one time line through the program and its nested loops
// and branches.
#pragma once

#include <unordered_map>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Both ends belong to it.
struct Interval {
  int begin;
  int end;
  friend bool operator==(const Interval&, const Interval&) = default;
};
using Lifetime = std::vector<Interval>;  // sorted, disjoint
bool overlap(const Lifetime& a, const Lifetime& b);
// The union.
void add_interval(Lifetime& lifetime, Interval interval);

// Instructions run at distinct times. One with computations of its own (while, if, case) begins,
// runs them one behind the other, and ends. A value is alive from its definition to its last use; a
// use inside a loop of a value from around the loop lasts until the loop's end.
class Liveness {
 public:
  explicit Liveness(const hlo::Computation& entry);

  // In order of time.
  const std::vector<hlo::Value>& values() const { return values_; }
  const Lifetime& lifetime(hlo::Value value) const { return lifetimes_.at(value); }
  void extend(hlo::Value value, Interval interval) { add_interval(lifetimes_.at(value), interval); }
  // An instruction runs from begin to end; the same unless it has computations of its own.
  Interval run(const hlo::Instruction& instruction) const { return runs_.at(&instruction); }
  // All instructions in order of time.
  const std::vector<const hlo::Instruction*>& program() const { return program_; }

 private:
  void visit(const hlo::Computation& computation);
  void define(const hlo::Instruction& instruction);
  int last_use(hlo::Value value) const;

  int now_ = 0;
  std::vector<hlo::Value> values_;
  std::vector<const hlo::Instruction*> program_;
  std::unordered_map<hlo::Value, Lifetime, hlo::ValueHash> lifetimes_;
  std::unordered_map<const hlo::Instruction*, Interval> runs_;
};

// The regions of this instruction are programs with memory of their own, not functions of elements.
bool has_programs(const hlo::Instruction& instruction);

}  // namespace systole::cpu
