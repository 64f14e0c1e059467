#include "systole/backends/cpu/compiler.h"

#include <algorithm>
#include <chrono>

#include "systole/backends/cpu/analysis/buffer_assignment.h"
#include "systole/backends/cpu/analysis/element_access.h"
#include "systole/backends/cpu/codegen/program.h"
#include "systole/backends/cpu/codegen/steps.h"
#include "systole/backends/cpu/passes/pipeline.h"
#include "systole/base/error.h"
#include "systole/hlo/text.h"
#include "systole/runtime/memory.h"

namespace systole::cpu {
namespace {

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
                                                 int num_threads, int64_t memory_bytes, Jit& jit) {
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
  runtime::check_memory("cpu", *optimized, program->stats, memory_bytes);
  program->constants = buffers.constants();
  EmittedProgram emitted;
  program->code = jit.compile(
      [&](llvm::Module& code) {
        emitted = emit_program(code, *optimized, buffers, jit.target(), options, num_threads);
      },
      options.optimize);
  program->kernels = std::move(emitted.kernels);
  program->steps = std::move(emitted.steps);
  program->stats.reference_steps = emitted.reference_steps;
  program->openmp = std::ranges::any_of(program->kernels,
                                        [](const auto& kernel) { return kernel->uses_openmp(); });
  program->stats.flops = program_flops(*optimized);
  program->stats.code_bytes = program->code->code_bytes();
  program->text = hlo::print(*optimized);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  program->stats.compile_seconds = elapsed.count();
  return program;
}

}  // namespace systole::cpu
