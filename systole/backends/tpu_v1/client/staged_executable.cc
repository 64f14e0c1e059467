#include "systole/backends/tpu_v1/client/staged_executable.h"

#include <cstring>

#include "systole/base/mutex.h"
#include "systole/tpu_v1/isa/planes.h"

namespace systole::tpu_v1 {

void write_tensor(Machine& machine, const Port& port, const Tensor& tensor) {
  const auto* bytes = static_cast<const uint8_t*>(tensor.raw());
  const auto size = static_cast<size_t>(tensor.byte_size());
  if (port.element != Element::s16) return machine.write_port(port, {bytes, size});
  std::vector<uint8_t> planes(size);
  to_planes({bytes, size}, port.row_bytes, planes);
  machine.write_port(port, planes);
}

void read_tensor(const Machine& machine, const Port& port, Tensor& tensor) {
  const std::vector<uint8_t> planes = machine.read_port(port);
  auto* bytes = static_cast<uint8_t*>(tensor.raw());
  if (port.element != Element::s16) {
    std::memcpy(bytes, planes.data(), planes.size());
    return;
  }
  from_planes(planes, port.row_bytes, {bytes, planes.size()});
}

StagedRunner::StagedRunner(const hlo::Module& module, const MachineConfig& config,
                           runtime::Client& host, const runtime::CompileOptions& options)
    : staged_(stage_module(module, config)), machine_(config) {
  for (const ModuleStage& stage : staged_.stages) {
    hosts_.push_back(stage.host == nullptr ? nullptr : host.compile(*stage.host, options));
  }
}

std::vector<Tensor> StagedRunner::run_machine(const ModuleStage& stage,
                                              std::span<const Tensor> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    write_tensor(machine_, stage.program.port("input" + std::to_string(i)), inputs[i]);
  machine_.run(stage.program);
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < stage.outputs.size(); ++i) {
    const TensorType& type = staged_.values[stage.outputs[i]];
    outputs.emplace_back(type.dtype, type.shape);
    read_tensor(machine_, stage.program.port("output" + std::to_string(i)), outputs.back());
  }
  return outputs;
}

std::vector<Tensor> StagedRunner::run(std::span<const Tensor> arguments) {
  const MutexLock lock(mutex_);
  std::vector<Tensor> values(staged_.values.size());
  for (size_t i = 0; i < arguments.size(); ++i) values[i] = arguments[i];
  for (size_t s = 0; s < staged_.stages.size(); ++s) {
    const ModuleStage& stage = staged_.stages[s];
    std::vector<Tensor> inputs;
    for (const int input : stage.inputs) inputs.push_back(values[input]);
    const std::vector<Tensor> outputs =
        hosts_[s] != nullptr ? runtime::run(*hosts_[s], inputs) : run_machine(stage, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) values[stage.outputs[i]] = outputs[i];
  }
  std::vector<Tensor> results;
  for (const int result : staged_.results) results.push_back(values[result]);
  return results;
}

}  // namespace systole::tpu_v1
