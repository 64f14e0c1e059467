#include "systole/backends/cpu/cpu_executable.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "systole/backends/cpu/kernels/flush_denormals.h"
#include "systole/backends/cpu/kernels/run_notes.h"
#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/base/error.h"
#include "systole/runtime/host_buffer.h"
#include "systole/runtime/process_group.h"
#include "systole/tracing/recorder.h"

namespace systole::cpu {
namespace {

constexpr int64_t kCopyGrain = int64_t{1} << 20;  // bytes that are not worth another thread

void copy_bytes(void* to, const void* from, int64_t bytes, ThreadPool* pool) {
  const auto copy = [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                static_cast<size_t>(end - begin));
  };
  if (pool == nullptr || bytes <= kCopyGrain) return copy(0, bytes);
  pool->parallel_for(bytes, kCopyGrain, copy);
}

}  // namespace

using runtime::Argument;
using runtime::Event;
using runtime::HostBuffer;
using runtime::Result;

struct CpuExecutable::Run {
  std::vector<void*> arguments;
  std::vector<std::span<const std::byte>> host_arguments;  // their memory
  std::vector<Tensor> replaced;    // host results that are arguments too; freed after the run
  std::vector<uint64_t> versions;  // of the arguments
  std::vector<void*> results;
  Tensor arena;
  std::vector<Tensor> dropped;  // by result: where values go that nobody asked for
  RunContext context;
  std::unique_ptr<RunNotes> notes;  // made by the first run in a recording
};

CpuExecutable::CpuExecutable(std::unique_ptr<CompiledProgram> program,
                             std::shared_ptr<ThreadPool> pool,
                             std::vector<std::shared_ptr<const runtime::HostPlacement>> placements,
                             runtime::ProgramSource source)
    : program_(std::move(program)),
      pool_(std::move(pool)),
      placements_(std::move(placements)),
      source_(std::move(source)),
      aliased_parameter_(program_->results.size(), -1) {
  for (const Tensor& constant : program_->constants) constants_.push_back(constant.raw());
  for (const auto& [parameter, result] : program_->aliases) {
    aliased_parameter_[result] = parameter;
  }
  asks_for_versions_ = std::ranges::any_of(
      program_->kernels, [](const auto& kernel) { return kernel->asks_for_versions(); });
}

CpuExecutable::~CpuExecutable() { delete idle_.load(); }

std::unique_ptr<CpuExecutable::Run> CpuExecutable::acquire() {
  std::unique_ptr<Run> run(idle_.exchange(nullptr, std::memory_order_acquire));
  if (run != nullptr) return run;
  run = std::make_unique<Run>();
  run->arguments.resize(program_->parameters.size());
  run->results.resize(program_->results.size());
  run->dropped.resize(program_->results.size());
  run->arena = Tensor(DType::u8, {program_->temp_bytes});
  run->context.constants = constants_.data();
  run->context.kernels = program_->kernels.data();
  run->context.pool = pool_.get();
  if (!asks_for_versions_) return run;
  run->versions.resize(program_->parameters.size());
  run->context.all_constants = constants_;
  run->context.arguments = run->arguments;
  run->context.versions = run->versions;
  return run;
}

Event CpuExecutable::bind_arguments(Run& run, std::span<const Argument> arguments) const {
  if (arguments.size() != program_->parameters.size()) {
    throw invalid_argument("cpu: number of arguments, got {}, expected {}", arguments.size(),
                           program_->parameters.size());
  }
  Event failure;
  run.host_arguments.clear();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Tensor* const value = runtime::host_elements("cpu", arguments[i], failure);
    assert(value->type() == program_->parameters[i]);
    run.arguments[i] = const_cast<void*>(value->raw());
    if (arguments[i].buffer != nullptr) continue;
    run.host_arguments.emplace_back(static_cast<const std::byte*>(value->raw()),
                                    static_cast<size_t>(value->byte_size()));
  }
  return failure;
}

void* CpuExecutable::place_result(Run& run, size_t k, const Result& result) const {
  const TensorType& type = program_->results[k];
  if (result.device != nullptr) {
    auto buffer = std::make_unique<HostBuffer>(Tensor(type), placements_[k]);
    void* data = buffer->data();
    *result.device = std::move(buffer);
    return data;
  }
  Tensor& target = result.host != nullptr ? *result.host : run.dropped[k];
  const auto* begin = static_cast<const std::byte*>(target.raw());
  const auto* end = begin + target.byte_size();
  const bool is_argument = std::ranges::any_of(run.host_arguments, [&](const auto& argument) {
    return begin < argument.data() + argument.size() && argument.data() < end;
  });
  // Slices and lent memory may be unaligned.
  const bool fits = !is_argument && target.unique() && target.dtype() == type.dtype &&
                    target.shape() == type.shape && is_aligned(target.raw());
  if (is_argument) run.replaced.push_back(target);
  if (!fits) target = Tensor(type);
  return target.raw();
}

void CpuExecutable::bind_results(Run& run, std::span<const Argument> arguments,
                                 std::span<const Result> results) const {
  if (results.size() != program_->results.size()) {
    throw invalid_argument("cpu: number of results, got {}, expected {}", results.size(),
                           program_->results.size());
  }
  for (size_t k = 0; k < results.size(); ++k) {
    const int parameter = aliased_parameter_[k];
    if (parameter < 0) {
      run.results[k] = place_result(run, k, results[k]);
      continue;
    }
    // A donated buffer is written in place.
    const Argument& argument = arguments[parameter];
    const bool donated = argument.buffer != nullptr && argument.donate;
    run.results[k] = donated ? nullptr : place_result(run, k, results[k]);
  }
}

// The memory of a result that the program writes over an argument the caller keeps starts as a copy
// of the argument.
void CpuExecutable::copy_kept_arguments(Run& run) const {
  for (size_t k = 0; k < run.results.size(); ++k) {
    if (aliased_parameter_[k] < 0 || run.results[k] == nullptr) continue;
    const auto p = static_cast<size_t>(aliased_parameter_[k]);
    copy_bytes(run.results[k], run.arguments[p], program_->parameters[p].byte_size(), pool_.get());
    run.arguments[p] = run.results[k];
  }
}

void CpuExecutable::check_aliases(const Run& run) const {
  for (const auto& [parameter, result] : program_->aliases) {
    const auto p = static_cast<size_t>(parameter);
    for (size_t i = 0; i < run.arguments.size(); ++i) {
      if (i == p || run.arguments[i] != run.arguments[p] ||
          program_->parameters[i].byte_size() == 0)
        continue;
      throw invalid_argument(
          "cpu: argument {}, got the memory of argument {}, which the program updates", i, p);
    }
  }
}

void CpuExecutable::note_versions(Run& run, std::span<const Argument> arguments) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!asks_for_versions_ && !arguments[i].donate) continue;
    auto* const buffer = dynamic_cast<HostBuffer*>(arguments[i].buffer);
    if (asks_for_versions_)
      run.versions[i] = buffer == nullptr ? HostBuffer::new_version() : buffer->version();
    if (buffer != nullptr && arguments[i].donate) buffer->change();
  }
  if (!asks_for_versions_) return;
  // (A result lies in the argument, or in a copy of it that has the argument's address.)
  for (const auto& [parameter, result] : program_->aliases)
    run.versions[u(parameter)] = HostBuffer::new_version();
}

std::vector<runtime::StepProfile> CpuExecutable::profile(const RunContext& context) const {
  std::vector<runtime::StepProfile> thunks = program_->thunks;
  for (size_t i = 0; i < thunks.size(); ++i) {
    const ThunkTime& time = context.thunks[i];
    thunks[i].runs = time.runs;
    thunks[i].seconds = std::chrono::duration<double>(time.time).count();
    thunks[i].flops *= static_cast<double>(time.runs);
    thunks[i].bytes *= static_cast<double>(time.runs);
  }
  return thunks;
}

// Results that lie in donated arguments and are wanted elsewhere, too.
void CpuExecutable::store_aliased_results(Run& run, std::span<const Result> results) const {
  for (size_t k = 0; k < results.size(); ++k) {
    const bool wanted = results[k].device != nullptr || results[k].host != nullptr;
    if (aliased_parameter_[k] < 0 || !wanted || run.results[k] != nullptr) continue;
    const void* from = run.arguments[aliased_parameter_[k]];
    copy_bytes(place_result(run, k, results[k]), from, program_->results[k].byte_size(),
               pool_.get());
  }
}

Event CpuExecutable::fail(Event failure, std::span<const Argument> arguments,
                          std::span<const Result> results) const {
  for (const auto& [parameter, result] : program_->aliases) {
    const Argument& argument = arguments[parameter];
    auto* const buffer = argument.donate ? dynamic_cast<HostBuffer*>(argument.buffer) : nullptr;
    if (buffer != nullptr) buffer->fail(failure);
  }
  for (size_t k = 0; k < results.size(); ++k) {
    if (results[k].device == nullptr) continue;
    auto buffer = std::make_unique<HostBuffer>(Tensor(program_->results[k]), placements_[k]);
    buffer->fail(failure);
    *results[k].device = std::move(buffer);
  }
  return failure;
}

// A run in a recording notes its steps and ops.
void CpuExecutable::call_noted(Run& run) const {
  tracing::note_program(program_->notes);
  if (run.notes == nullptr) run.notes = std::make_unique<RunNotes>();
  run.notes->begin(run.context, *program_->notes, program_->has_step_loop);
  call_program(run);
  run.notes->end(run.context);
}

// Programs see denormals as zero, on every thread.
void CpuExecutable::call_program(Run& run) const {
  const FlushDenormals flush;
  program_->code->main()(run.arguments.data(), run.results.data(), run.arena.raw(), &run.context);
}

Event CpuExecutable::execute(std::span<const Argument> arguments, std::span<const Result> results,
                             const runtime::ExecuteOptions& options) {
  std::unique_ptr<Run> run = acquire();
  const Event failed = bind_arguments(*run, arguments);
  if (failed.error() != nullptr) return fail(failed, arguments, results);
  bind_results(*run, arguments, results);
  copy_kept_arguments(*run);
  check_aliases(*run);
  note_versions(*run, arguments);
  if (!program_->thunks.empty()) {
    run->context.thunks.assign(program_->thunks.size(), {});
    run->context.thunk_end = std::chrono::steady_clock::now();
  }
  if (tracing::active() && options.notes) [[unlikely]] {
    call_noted(*run);
  } else {
    call_program(*run);
  }
  if (run->context.error != nullptr) {
    // Sums in progress use the memory of the run.
    if (run->context.processes != nullptr) run->context.processes->drop_sums();
    try {
      std::rethrow_exception(run->context.error);
    } catch (const Error& error) {
      return fail(Event::failed(error), arguments, results);
    }
  }
  store_aliased_results(*run, results);
  run->replaced.clear();
  if (options.profile != nullptr && !program_->thunks.empty())
    *options.profile = profile(run->context);
  Run* none = nullptr;
  if (idle_.compare_exchange_strong(none, run.get(), std::memory_order_release))
    static_cast<void>(run.release());
  return {};
}

}  // namespace systole::cpu
