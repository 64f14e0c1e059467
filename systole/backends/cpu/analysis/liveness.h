// Lifetimes of a program's values on one time line through nested loops and branches.
#pragma once

#include <unordered_map>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Returns whether the value is a constant or a parameter of the program, or a reshape of one: where
// it is read it has the same elements in all turns of all loops.
bool is_program_input(const hlo::Value& value);

// Inclusive at both ends.
struct Interval {
  int begin;
  int end;
  friend bool operator==(const Interval&, const Interval&) = default;
};
using Lifetime = std::vector<Interval>;  // sorted, disjoint
bool overlap(const Lifetime& a, const Lifetime& b);
// Adds the interval to the union.
void add_interval(Lifetime& lifetime, Interval interval);

// Instructions have distinct times. One with nested programs (while, if, case) begins, runs them in
// sequence, and ends. A value is alive from its definition to its last use. A use inside a loop of
// a value defined outside lasts until the loop ends.
class Liveness {
 public:
  explicit Liveness(const hlo::Computation& entry);

  // Ordered by time.
  const std::vector<hlo::Value>& values() const { return values_; }
  const Lifetime& lifetime(hlo::Value value) const { return lifetimes_.at(value); }
  void extend(hlo::Value value, Interval interval) { add_interval(lifetimes_.at(value), interval); }
  // The begin and end of an instruction; equal unless it has nested programs.
  Interval run(const hlo::Instruction& instruction) const { return runs_.at(&instruction); }
  // The end of the last lifetime is not after it.
  int last_time() const { return now_; }
  // All instructions, ordered by time.
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

// Returns whether the instruction's regions are programs with memory, not functions of elements.
bool has_programs(const hlo::Instruction& instruction);

}  // namespace systole::cpu
