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
#include "systole/runtime/process_group.h"
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

// Returns the notes of a program without ops.
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

void add_step_loops(const hlo::Computation& computation, int64_t& number, std::string& key) {
  for (const hlo::Instruction* x : computation.instructions()) {
    ++number;
    if (is_step_loop(*x)) key += fmt::format(" step_loop={}", number);
    for (const auto& region : x->regions()) add_step_loops(*region, number, key);
  }
}

// Everything that the code of an optimised program depends on (Jit::find). The text of a module
// has all instructions, types, attributes and constants, bit by bit, but no names of graph nodes,
// which is_step_loop() reads.
std::string key_of(const hlo::Module& module, std::string_view text,
                   const runtime::CompileOptions& options, int num_threads) {
  std::string key = fmt::format("threads={} profile={}", num_threads, options.program.profile);
  if (options.processes != nullptr)
    key += fmt::format(" process={}/{}", options.processes->rank(), options.processes->size());
  for (const auto& [parameter, result] : module.aliases)
    key += fmt::format(" alias={}:{}", parameter, result);
  int64_t number = 0;
  add_step_loops(module.entry(), number, key);
  // The name of the module does not matter.
  key += '\n';
  key += text.substr(std::min(text.find('\n'), text.size()));
  return key;
}

struct CodeSource {
  const hlo::Module& module;
  std::string key;
  const BufferAssignment& buffers;
  const runtime::CompileOptions& options;
  int num_threads;
};

// Emits nothing, and makes no code, for a program whose code is known.
std::pair<EmittedProgram, JitResult> find_or_make_code(const CodeSource& source, Jit& jit,
                                                       const JitOptions& options) {
  const KernelSetting setting{.num_threads = source.num_threads,
                              .streamed_bytes = jit.target().streamed_bytes,
                              .processes = source.options.processes};
  if (auto known = jit.find(source.key, options)) {
    const tracing::Span span("make kernels", tracing::Kind::compile);
    if (auto restored = restore_program(known->code->record(), source.module, setting))
      return {std::move(*restored), std::move(*known)};
    log_warning("cpu: compiled code of '{}', got a record of another program; it is compiled again",
                source.module.name());
  }
  EmittedProgram emitted;
  JitResult made = jit.compile(
      source.key,
      [&](llvm::Module& code) {
        emitted = emit_program(code, source.module, source.buffers, jit.target(), source.options,
                               source.num_threads);
        return write_record(emitted.record, source.module);
      },
      options);
  return {std::move(emitted), std::move(made)};
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
  program->text = hlo::print(*optimized);
  // A program without parameters, such as an initializer, always has the same result.
  const JitOptions jit_options{.optimize = options.optimize,
                               .runs_once = program->parameters.empty(),
                               .cache = cache,
                               .pool = pool};
  auto [emitted, code] =
      find_or_make_code({.module = *optimized,
                         .key = key_of(*optimized, program->text, options, num_threads),
                         .buffers = buffers,
                         .options = options,
                         .num_threads = num_threads},
                        jit, jit_options);
  program->code = std::move(code.code);
  program->stats.code_cached = code.origin != CodeOrigin::made;
  const auto notes = program_notes(*optimized, options, *program, buffers);
  // (A program that is not optimised notes none.)
  if (options.optimize) notes->ops = ops_of(emitted.record);
  program->notes = notes;
  program->has_step_loop = emitted.record.has_step_loop;
  program->kernels = std::move(emitted.kernels);
  if (options.program.profile) program->thunks = step_profiles_of(emitted.record);
  program->stats.reference_steps = emitted.record.interpreted_steps();
  const hlo::Cost cost = hlo::cost_of(optimized->entry());
  program->stats.flops = cost.flops;
  program->stats.transcendentals = cost.transcendentals;
  program->stats.notes_steps = true;
  program->stats.code_bytes = program->code->code_bytes();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  program->stats.compile_seconds = elapsed.count();
  return program;
}

}  // namespace systole::cpu
