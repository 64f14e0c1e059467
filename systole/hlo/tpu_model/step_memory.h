// The memory that a program needs on a core of a TPU.
#pragma once

#include <memory>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/hlo/semantics/cost.h"

namespace systole::hlo {

// A copy of a program that is optimized as a TPU's compiler does: simplified, without the passes
// that change what loops carry.
std::unique_ptr<Module> tpu_program(const Module& module);

// An array that is live when the program needs the most memory.
struct LiveArray {
  Value value;
  TensorType type;  // that it has in memory
  double bytes = 0;
};

struct StepMemory {
  double parameters = 0;
  double temporaries = 0;          // the maximum of the sum of live arrays, with results
  std::vector<LiveArray> largest;  // live at the maximum, in descending order, without parameters
  // What is computed again for lack of memory, once for each time: the roots of kernels.
  std::vector<const Instruction*> recomputed;

  double total() const { return parameters + temporaries; }
};

struct MemoryOptions {
  double limit = 0;  // bytes of the core; 0: none
  double state = 0;  // bytes that are in it throughout; 0: those of the parameters
  // Bytes of another memory on the chip. Temporary arrays of at most half of it are in there
  // as far as they have room.
  double on_chip = 0;
};

// Counts the arrays between kernels (kernels.h) from the one that makes them to the last that reads
// them. `program`: of tpu_program.
//   - An update of an array in place and a result written over its parameter (Module::aliases) need
//     no memory.
//   - Kernels that only lead to results run as soon as what they read exists.
//   - A loop needs the memory of its body besides.
//   - While the sum exceeds the limit, arrays are computed again where they are used, as long as
//     that saves memory: those that save the most for their work first.
StepMemory step_memory(const Module& program, BytesOf bytes_of = array_bytes,
                       const MemoryOptions& options = {});

}  // namespace systole::hlo
