#include "systole/backends/cpu/compiler.h"

#include <unistd.h>

#include <chrono>

#include "systole/backends/cpu/analysis/buffer_assignment.h"
#include "systole/backends/cpu/analysis/element_access.h"
#include "systole/backends/cpu/codegen/program.h"
#include "systole/backends/cpu/codegen/steps.h"
#include "systole/backends/cpu/passes/pipeline.h"
#include "systole/base/error.h"
#include "systole/hlo/text.h"

namespace systole::cpu {
namespace {

int64_t physical_memory() { return int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE); }

void check_memory(const hlo::Module& module, const runtime::ExecutableStats& stats) {
  const int64_t needed = stats.argument_bytes + stats.result_bytes + stats.temp_bytes;
  if (needed <= physical_memory()) return;
  throw make_error(Code::resource_exhausted,
                   "cpu: memory of '{}', got {} bytes, expected at most {}", module.name(), needed,
                   physical_memory());
}

void note_signature(const hlo::Computation& main, CompiledProgram& program) {
  for (int i = 0; i < main.num_parameters(); ++i) {
    program.parameters.push_back(main.parameter(i).type());
    program.stats.argument_bytes += program.parameters.back().byte_size();
  }
  for (const hlo::Value& value : main.results()) {
    program.results.push_back(value.type());
    program.stats.result_bytes += program.results.back().byte_size();
  }
}

}  // namespace

std::unique_ptr<CompiledProgram> compile_program(const hlo::Module& module,
                                                 const runtime::CompileOptions& options,
                                                 int num_threads, Jit& jit) {
  const auto start = std::chrono::steady_clock::now();
  const auto optimized = module.clone();
  run_passes(*optimized, options);
  auto program = std::make_unique<CompiledProgram>();
  note_signature(optimized->entry(), *program);
  program->aliases = optimized->aliases;
  const BufferAssignment buffers(*optimized, {.reuse = options.optimize,
                                              .in_place = can_update_in_place,
                                              .scratch_bytes = [&](const hlo::Instruction& x) {
                                                return step_scratch_bytes(x, options.optimize);
                                              }});
  program->temp_bytes = program->stats.temp_bytes = buffers.temp_bytes();
  check_memory(module, program->stats);
  program->constants = buffers.constants();
  program->code = jit.compile(
      [&](llvm::Module& code) {
        program->kernels =
            emit_program(code, *optimized, buffers, jit.target(), options.optimize, num_threads);
      },
      options.optimize);
  program->stats.flops = program_flops(*optimized);
  program->stats.code_bytes = program->code->code_bytes();
  program->text = hlo::print(*optimized);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  program->stats.compile_seconds = elapsed.count();
  return program;
}

}  // namespace systole::cpu
