// Thunks of large programs are functions of their own, and those that compute the same are one: a
// network repeats its layers, and code is made of each kind of thunk once.
#pragma once

#include <unordered_map>
#include <vector>

#include "systole/backends/cpu/codegen/function_emitter.h"

namespace systole::cpu {

// Whether thunks of the computation are to be functions: it has many, or a region that has many.
bool is_large(const hlo::Computation& computation);

// The code of a thunk of a large computation, as a call from `f`.
void emit_outlined(FunctionEmitter& f, const hlo::Instruction& x, ThunkCode code);

// The functions made so far.
class OutlinedThunks {
 public:
  void emit(FunctionEmitter& f, const hlo::Instruction& x, ThunkCode code);

 private:
  struct Shared {
    const hlo::Instruction* thunk;
    std::vector<int64_t> layout;
    llvm::Function* function;
  };
  std::unordered_multimap<size_t, Shared> functions_;  // by a hash of the thunk
};

}  // namespace systole::cpu
