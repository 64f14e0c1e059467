#include "systole/backends/cpu/codegen/program.h"

#include "systole/backends/cpu/codegen/thunks.h"

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
  emit_thunks(main, module.entry());
  main.begin_kernel({});
  for (const Move& move : buffers.final_moves()) main.copy(move);
  main.finish();
  return {std::move(program.kernels), std::move(program.thunks), program.interpreted_thunks,
          program.has_step_loop};
}

}  // namespace systole::cpu
