#include "systole/backends/cpu/codegen/program.h"

#include "systole/backends/cpu/codegen/thunks.h"

namespace systole::cpu {

EmittedProgram emit_program(llvm::Module& code, const hlo::Module& module,
                            const BufferAssignment& buffers, const HostTarget& target,
                            const runtime::CompileOptions& options, int num_threads) {
  ProgramEmitter program{.module = code,
                         .buffers = buffers,
                         .target = target,
                         .optimize = options.optimize,
                         .num_threads = num_threads,
                         .profile = options.program.profile,
                         .processes = options.processes};
  FunctionEmitter main(program, "main");
  emit_thunks(main, module.entry());
  main.begin_kernel({});
  for (const Move& move : buffers.final_moves()) main.copy(move);
  main.finish();
  return {std::move(program.record), std::move(program.kernels)};
}

std::optional<EmittedProgram> restore_program(std::string_view record, const hlo::Module& module,
                                              const KernelSetting& setting) {
  std::optional<ProgramRecord> read = read_record(record, module);
  if (!read) return std::nullopt;
  EmittedProgram program{.record = std::move(*read), .kernels = {}};
  for (const KernelRecord& kernel : program.record.kernels) {
    program.kernels.push_back(make_kernel(kernel, setting));
    if (program.kernels.back() == nullptr) return std::nullopt;
  }
  return program;
}

}  // namespace systole::cpu
