#include "systole/backends/cpu/codegen/program.h"

#include "systole/backends/cpu/codegen/steps.h"

namespace systole::cpu {

EmittedProgram emit_program(llvm::Module& code, const hlo::Module& module,
                            const BufferAssignment& buffers, const HostTarget& target,
                            const runtime::CompileOptions& options, int num_threads,
                            std::vector<tracing::Op>& ops) {
  ProgramEmitter program{.module = code,
                         .buffers = buffers,
                         .target = target,
                         .optimize = options.optimize,
                         .num_threads = num_threads,
                         .profile = options.program.profile,
                         .processes = options.processes,
                         .ops = ops};
  FunctionEmitter main(program, "main");
  emit_steps(main, module.entry());
  main.begin_step({});
  for (const Move& move : buffers.final_moves()) main.copy(move);
  main.finish();
  return {std::move(program.kernels), std::move(program.steps), program.reference_steps,
          program.has_step_loop};
}

}  // namespace systole::cpu
