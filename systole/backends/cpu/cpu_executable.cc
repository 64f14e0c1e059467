#include "systole/backends/cpu/cpu_executable.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "systole/backends/cpu/kernels/flush_denormals.h"
#include "systole/backends/cpu/kernels/openmp.h"
#include "systole/backends/cpu/sizes.h"
#include "systole/base/error.h"
#include "systole/runtime/host_buffer.h"

namespace systole::cpu {

using runtime::Argument;
using runtime::HostBuffer;
using runtime::Result;

struct CpuExecutable::Run {
  std::vector<void*> arguments;
  std::vector<std::span<const std::byte>> host_arguments;  // their memory
  std::vector<Tensor> replaced;  // host results that are arguments too; freed after the run
  std::vector<void*> results;
  Tensor arena;
  std::vector<Tensor> dropped;  // by result: where values go that nobody asked for
  RunContext context;
};

CpuExecutable::CpuExecutable(std::unique_ptr<CompiledProgram> program, ThreadPool* pool)
    : program_(std::move(program)), pool_(pool), aliased_parameter_(program_->results.size(), -1) {
  for (const Tensor& constant : program_->constants) constants_.push_back(constant.raw());
  for (const auto& [parameter, result] : program_->aliases) {
    aliased_parameter_[static_cast<size_t>(result)] = parameter;
  }
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
  run->context.pool = pool_;
  run->context.openmp = program_->openmp;
  return run;
}

void CpuExecutable::bind_arguments(Run& run, std::span<const Argument> arguments) const {
  if (arguments.size() != program_->parameters.size()) {
    throw invalid_argument("cpu: number of arguments, got {}, expected {}", arguments.size(),
                           program_->parameters.size());
  }
  run.host_arguments.clear();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    if (argument.buffer != nullptr) {
      assert(dynamic_cast<HostBuffer*>(argument.buffer) != nullptr);
      assert(argument.buffer->type() == program_->parameters[i]);
      run.arguments[i] = static_cast<HostBuffer*>(argument.buffer)->data();
    } else {
      assert(argument.host->type() == program_->parameters[i]);
      run.arguments[i] = const_cast<void*>(argument.host->raw());
      run.host_arguments.push_back({static_cast<const std::byte*>(argument.host->raw()),
                                    static_cast<size_t>(argument.host->byte_size())});
    }
  }
}

void* CpuExecutable::place_result(Run& run, size_t k, const Result& result) const {
  const TensorType& type = program_->results[k];
  if (result.device != nullptr) {
    auto buffer = std::make_unique<HostBuffer>(Tensor(type));
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
    const auto p = static_cast<size_t>(parameter);
    run.results[k] = nullptr;
    if (arguments[p].buffer != nullptr) continue;
    // A host tensor is not ours to change: the result's memory starts as a copy of it.
    run.results[k] = place_result(run, k, results[k]);
    std::memcpy(run.results[k], run.arguments[p],
                static_cast<size_t>(program_->parameters[p].byte_size()));
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

std::vector<runtime::StepProfile> CpuExecutable::profile(const RunContext& context) const {
  std::vector<runtime::StepProfile> steps = program_->steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    const StepTime& time = context.steps[i];
    steps[i].runs = time.runs;
    steps[i].seconds = std::chrono::duration<double>(time.time).count();
    steps[i].flops *= static_cast<double>(time.runs);
    steps[i].bytes *= static_cast<double>(time.runs);
  }
  return steps;
}

// Programs see denormals as zero, on every thread.
void CpuExecutable::call_program(Run& run) const {
  const auto call = [&] {
    const FlushDenormals flush;
    program_->code->main()(run.arguments.data(), run.results.data(), run.arena.raw(), &run.context);
  };
  if (!program_->openmp) return call();
  run_with_openmp([&] {
    const OpenmpFlushDenormals flush(pool_ == nullptr ? 1 : pool_->num_threads());
    call();
  });
}

void CpuExecutable::execute(std::span<const Argument> arguments, std::span<const Result> results,
                            const runtime::ExecuteOptions& options) {
  std::unique_ptr<Run> run = acquire();
  bind_arguments(*run, arguments);
  bind_results(*run, arguments, results);
  check_aliases(*run);
  if (!program_->steps.empty()) {
    run->context.steps.assign(program_->steps.size(), {});
    run->context.step_end = std::chrono::steady_clock::now();
  }
  call_program(*run);
  if (run->context.error != nullptr) std::rethrow_exception(run->context.error);
  for (size_t k = 0; k < results.size(); ++k) {
    const bool wanted = results[k].device != nullptr || results[k].host != nullptr;
    if (aliased_parameter_[k] < 0 || !wanted || run->results[k] != nullptr) continue;
    // In the argument's buffer, and wanted elsewhere, too.
    const void* from = run->arguments[static_cast<size_t>(aliased_parameter_[k])];
    std::memcpy(place_result(*run, k, results[k]), from,
                static_cast<size_t>(program_->results[k].byte_size()));
  }
  run->replaced.clear();
  if (options.profile != nullptr && !program_->steps.empty())
    *options.profile = profile(run->context);
  Run* none = nullptr;
  if (idle_.compare_exchange_strong(none, run.get(), std::memory_order_release))
    static_cast<void>(run.release());
}

}  // namespace systole::cpu
