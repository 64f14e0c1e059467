// A compiled program and the memory of its runs.
#pragma once

#include <atomic>
#include <memory>

#include "systole/backends/cpu/compiler.h"
#include "systole/base/thread_pool.h"
#include "systole/runtime/host_buffer.h"
#include "systole/runtime/serialized_program.h"

namespace systole::cpu {

class CpuExecutable : public runtime::Executable {
 public:
  // A null `pool` means one thread. `placements` has one entry per result. `source` is
  // what `program` was compiled from.
  CpuExecutable(std::unique_ptr<CompiledProgram> program, std::shared_ptr<ThreadPool> pool,
                std::vector<std::shared_ptr<const runtime::HostPlacement>> placements,
                runtime::ProgramSource source);
  ~CpuExecutable() override;

  std::span<const TensorType> parameter_types() const override { return program_->parameters; }
  std::span<const TensorType> result_types() const override { return program_->results; }
  const runtime::ExecutableStats& stats() const override { return program_->stats; }
  std::string optimized_program() const override { return program_->text; }
  runtime::Event execute(std::span<const runtime::Argument> arguments,
                         std::span<const runtime::Result> results,
                         const runtime::ExecuteOptions& options) override;
  // The source, without machine code: see make_client().
  std::string serialize() const override {
    return runtime::write_program("cpu", *source_.module, source_.options);
  }

 private:
  struct Run;  // the memory of one run; kept for the next
  std::unique_ptr<Run> acquire();
  // Returns the error of the first buffer that has one.
  runtime::Event bind_arguments(Run& run, std::span<const runtime::Argument> arguments) const;
  void bind_results(Run& run, std::span<const runtime::Argument> arguments,
                    std::span<const runtime::Result> results) const;
  void* place_result(Run& run, size_t k, const runtime::Result& result) const;
  void copy_kept_arguments(Run& run) const;
  void check_aliases(const Run& run) const;
  // Notes the versions of the arguments' elements, before the run writes some.
  void note_versions(Run& run, std::span<const runtime::Argument> arguments) const;
  void store_aliased_results(Run& run, std::span<const runtime::Result> results) const;
  // Gives donated buffers and new ones the error of the launch.
  runtime::Event fail(runtime::Event failure, std::span<const runtime::Argument> arguments,
                      std::span<const runtime::Result> results) const;
  void call_program(Run& run) const;
  void call_noted(Run& run) const;
  std::vector<runtime::StepProfile> profile(const RunContext& context) const;

  std::unique_ptr<CompiledProgram> program_;
  std::shared_ptr<ThreadPool> pool_;
  std::vector<std::shared_ptr<const runtime::HostPlacement>> placements_;  // by result
  runtime::ProgramSource source_;
  std::vector<const void*> constants_;
  std::vector<int>
      aliased_parameter_;  // by result: the parameter whose buffer it is written over, or -1
  bool asks_for_versions_ = false;  // some kernel
  std::atomic<Run*> idle_ = nullptr;
};

}  // namespace systole::cpu
