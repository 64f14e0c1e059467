// Steps of large programs are functions of their own, and those that compute the same are one: a
// network repeats its layers, and code is made of each kind of step once.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "systole/backends/cpu/codegen/steps.h"

namespace systole::cpu {

// More arrays than that make a step one of a kind.
constexpr int64_t kMaxStepMemory = 256;

// The memory that a step works on, in the order of its operands, its results and its scratch
// memory.
struct StepMemory {
  std::vector<Slice> slices;
  bool complete = true;  // its code asked for no other

  // Names the address that the function of a shared step gets by number.
  struct Place {
    int64_t number;
    int64_t offset;
  };
  // Where a slice lies. One that is no part of the memory is added to it, and makes it incomplete.
  // None for blocks, which are the function's own.
  std::optional<Place> place_of(const Slice& slice);
};

// Whether steps of the computation are to be functions: it has many, or a region that has many.
bool is_large(const hlo::Computation& computation);

// The code of a step of a large computation, as a call from `f`.
void emit_step_apart(FunctionEmitter& f, const hlo::Instruction& x, StepCode code);

// The functions made so far.
class OutlinedSteps {
 public:
  void emit(FunctionEmitter& f, const hlo::Instruction& x, StepCode code);

 private:
  struct Shared {
    const hlo::Instruction* step;
    std::vector<int64_t> layout;
    llvm::Function* function;
  };
  std::unordered_multimap<size_t, Shared> functions_;  // by a hash of the step
};

}  // namespace systole::cpu
