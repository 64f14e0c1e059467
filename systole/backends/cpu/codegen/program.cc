#include "systole/backends/cpu/codegen/program.h"

#include "systole/backends/cpu/codegen/steps.h"

namespace systole::cpu {

std::vector<std::unique_ptr<Kernel>> emit_program(llvm::Module& code, const hlo::Module& module,
                                                  const BufferAssignment& buffers,
                                                  const HostTarget& target, bool optimize,
                                                  int num_threads) {
  ProgramEmitter program{.module = code,
                         .buffers = buffers,
                         .target = target,
                         .optimize = optimize,
                         .num_threads = num_threads,
                         .kernels = {}};
  FunctionEmitter main(program, "main");
  emit_steps(main, module.entry());
  main.begin_step({});
  for (const Move& move : buffers.final_moves()) main.copy(move);
  main.finish();
  return std::move(program.kernels);
}

double program_flops(const hlo::Module& module) {
  double total = 0;
  for (const hlo::Instruction* x : module.entry().instructions()) total += step_flops(*x);
  return total;
}

}  // namespace systole::cpu
