// What a program needs beside machine code and memory, as data that is kept with its code
// (jit/code_cache.h): the next compilation of the same program reads it instead of emitting code.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

enum class KernelKind : uint8_t {
  attention,  // or its gradient
  convolution,
  dot,
  fft,
  foreign,  // runtime::is_ffi_call
  join,
  lapack,
  pad,
  process,
  product_fusion,
  reference,
  row_dot,
  sort,
  transpose,
};

// Names a kernel of the program.
struct KernelRecord {
  KernelKind kind;
  const hlo::Instruction* x;
  // join: the first operand that it joins. row_dot: whether its left operand begins with the rows.
  int64_t argument = 0;
};

// An instruction of the program that is noted when it has run.
struct StepRecord {
  const hlo::Instruction* x;
  bool interpreted;
};

struct ProgramRecord {
  std::vector<KernelRecord> kernels;  // by number
  std::vector<StepRecord> steps;      // in the order of their code
  bool has_step_loop = false;

  int64_t interpreted_steps() const;
};

// What kernels depend on besides their instruction.
struct KernelSetting {
  int num_threads = 1;
  int64_t streamed_bytes = 0;                  // HostTarget::streamed_bytes
  runtime::ProcessGroup* processes = nullptr;  // null: one process
};

// Returns null where no kernel is faster than compiled loops. Errors: those of the kernels' makers.
// REQUIRES: the instruction is of this kind.
std::unique_ptr<Kernel> make_kernel(const KernelRecord& record, const KernelSetting& setting);

// Instructions are written as their numbers in `module`.
std::string write_record(const ProgramRecord& record, const hlo::Module& module);
// Returns nullopt unless write_record() made the bytes of a module with the same instructions. The
// kernels are such as make_kernel() takes.
std::optional<ProgramRecord> read_record(std::string_view bytes, const hlo::Module& module);

}  // namespace systole::cpu
