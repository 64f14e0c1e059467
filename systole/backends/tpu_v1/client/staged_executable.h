// A module in stages, ready to run.
#pragma once

#include <memory>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/runtime/client.h"
#include "systole/tpu_v1/compiler/module_stages.h"
#include "systole/tpu_v1/machine/machine.h"

namespace systole::tpu_v1 {

// Copies tensors of integers to and from a port: 16-bit elements become rows of low and of high
// bytes. REQUIRES: as many bytes as the port has.
void write_tensor(Machine& machine, const Port& port, const Tensor& tensor);
void read_tensor(const Machine& machine, const Port& port, Tensor& tensor);

// Thread-safe; runs are serialized.
class StagedRunner {
 public:
  // `host` compiles the stages of the host and must outlive the runner. Errors: those of
  // stage_module() and of the host's compiler.
  StagedRunner(const hlo::Module& module, const MachineConfig& config, runtime::Client& host,
               const runtime::CompileOptions& options);

  const StagedModule& staged() const { return staged_; }
  // Takes the parameters of main and returns its results.
  std::vector<Tensor> run(std::span<const Tensor> arguments);

 private:
  std::vector<Tensor> run_machine(const ModuleStage& stage, std::span<const Tensor> inputs)
      SYSTOLE_REQUIRES(mutex_);

  StagedModule staged_;
  std::vector<std::unique_ptr<runtime::Executable>> hosts_;  // by stage; null for the machine
  Mutex mutex_;
  Machine machine_ SYSTOLE_GUARDED_BY(mutex_);
};

}  // namespace systole::tpu_v1
