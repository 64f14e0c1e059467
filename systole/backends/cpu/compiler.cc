#include "systole/backends/cpu/compiler.h"

#include <algorithm>
#include <chrono>

#include "systole/backends/cpu/analysis/buffer_assignment.h"
#include "systole/backends/cpu/analysis/element_access.h"
#include "systole/backends/cpu/codegen/profile_notes.h"
#include "systole/backends/cpu/codegen/program.h"
#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/backends/cpu/kernels/processes.h"
#include "systole/backends/cpu/passes/pipeline.h"
#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/hlo/semantics/cost.h"
#include "systole/runtime/memory.h"
#include "systole/runtime/tpu_memory.h"
#include "systole/stablehlo/text/text.h"
#include "systole/tracing/recorder.h"

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

BufferAssignment assign_buffers(const hlo::Module& optimized,
                                const runtime::CompileOptions& options, int num_threads) {
  return BufferAssignment(
      optimized, {.reuse = options.optimize,
                  .in_place =
                      [](const hlo::Instruction& x, int operand, int result) {
                        return finishes_in_place(x) || can_update_in_place(x, operand, result);
                      },
                  .scratch_bytes =
                      [&](const hlo::Instruction& x) {
                        return thunk_scratch_bytes(x, options.optimize, num_threads);
                      }});
}

// A program after all passes, with its memory.
struct ProgramPlan {
  std::unique_ptr<hlo::Module> optimized;
  std::unique_ptr<CompiledProgram> program;  // signature, aliases and bytes
  BufferAssignment buffers;

  // As a double: a sum of sizes near 2^63 would overflow.
  double bytes() const {
    const runtime::ExecutableStats& stats = program->stats;
    return static_cast<double>(stats.argument_bytes) + static_cast<double>(stats.result_bytes) +
           static_cast<double>(stats.temp_bytes);
  }
};

ProgramPlan plan_program(const hlo::Module& module, const runtime::CompileOptions& options,
                         int num_threads, bool in_turn) {
  auto optimized = on_all_replicas(module, options, in_turn);
  run_passes(*optimized, options, has_native_code);
  auto program = std::make_unique<CompiledProgram>();
  note_signature(optimized->entry(), *program);
  program->aliases = optimized->aliases;
  BufferAssignment buffers = assign_buffers(*optimized, options, num_threads);
  program->temp_bytes = program->stats.temp_bytes = buffers.temp_bytes();
  return {std::move(optimized), std::move(program), std::move(buffers)};
}

// Replicas side by side are faster: one product over all their rows instead of one each. They run
// in turn where the machine has no memory for that.
ProgramPlan plan_program(const hlo::Module& module, const runtime::CompileOptions& options,
                         int num_threads, int64_t memory_bytes) {
  ProgramPlan plan = plan_program(module, options, num_threads, false);
  if (options.num_replicas == 1 || plan.bytes() <= static_cast<double>(memory_bytes)) return plan;
  ProgramPlan in_turn = plan_program(module, options, num_threads, true);
  if (in_turn.bytes() >= plan.bytes()) return plan;
  log_debug("cpu: replicas of '{}' run one after another, with {} instead of {}", module.name(),
            runtime::bytes_text(in_turn.bytes()), runtime::bytes_text(plan.bytes()));
  return in_turn;
}

// A core of a TPU has one replica. It is judged only where all of them together need more.
void check_memory_limit(const hlo::Module& module, int64_t limit,
                        const runtime::ExecutableStats& all) {
  if (limit == 0 || all.argument_bytes + all.result_bytes + all.temp_bytes <= limit) return;
  runtime::check_core_memory(module, limit);
}

// Returns the notes of a program without ops, which are added when code is emitted.
std::shared_ptr<tracing::Program> program_notes(const hlo::Module& module,
                                                const runtime::CompileOptions& options,
                                                const CompiledProgram& program,
                                                const BufferAssignment& buffers) {
  auto notes = std::make_shared<tracing::Program>();
  notes->id = tracing::new_program_id();
  notes->name = module.name().empty() ? "program" : module.name();
  notes->replicas = options.num_replicas;
  notes->allocations = allocations_of(module, buffers);
  notes->argument_bytes = program.stats.argument_bytes;
  notes->result_bytes = program.stats.result_bytes;
  notes->temp_bytes = program.stats.temp_bytes;
  return notes;
}

}  // namespace

std::unique_ptr<CompiledProgram> compile_program(const hlo::Module& module,
                                                 const runtime::CompileOptions& options,
                                                 ThreadPool* pool, int64_t memory_bytes, Jit& jit,
                                                 CodeCache* cache) {
  const tracing::Span span("compile for cpu", tracing::Kind::compile);
  const auto start = std::chrono::steady_clock::now();
  const int num_threads = pool == nullptr ? 1 : pool->num_threads();
  ProgramPlan plan = plan_program(module, options, num_threads, memory_bytes);
  const auto& optimized = plan.optimized;
  const BufferAssignment& buffers = plan.buffers;
  auto program = std::move(plan.program);
  runtime::check_memory("cpu", *optimized, program->stats, memory_bytes);
  check_memory_limit(module, options.memory_limit, program->stats);
  program->constants = buffers.constants();
  const auto notes = program_notes(*optimized, options, *program, buffers);
  EmittedProgram emitted;
  JitResult compiled = jit.compile(
      [&](llvm::Module& code) {
        emitted =
            emit_program(code, *optimized, buffers, jit.target(), options, num_threads, notes->ops);
      },
      // A program without parameters, such as an initializer, always has the same result.
      {.optimize = options.optimize,
       .runs_once = program->parameters.empty(),
       .cache = cache,
       .pool = pool});
  program->code = std::move(compiled.code);
  program->stats.code_cached = compiled.origin != CodeOrigin::made;
  program->notes = notes;
  program->has_step_loop = emitted.has_step_loop;
  program->kernels = std::move(emitted.kernels);
  program->thunks = std::move(emitted.thunks);
  program->stats.reference_steps = emitted.interpreted_thunks;
  const hlo::Cost cost = hlo::cost_of(optimized->entry());
  program->stats.flops = cost.flops;
  program->stats.transcendentals = cost.transcendentals;
  program->stats.notes_steps = true;
  program->stats.code_bytes = program->code->code_bytes();
  program->text = hlo::print(*optimized);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  program->stats.compile_seconds = elapsed.count();
  return program;
}

}  // namespace systole::cpu
