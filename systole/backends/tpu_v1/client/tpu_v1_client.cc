#include <chrono>

#include "systole/backends/tpu_v1/client/staged_executable.h"
#include "systole/backends/tpu_v1/client/tpu_v1_backend.h"
#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/hlo/passes/expand_quantized.h"
#include "systole/runtime/host_client.h"
#include "systole/runtime/host_launch.h"
#include "systole/runtime/registry.h"
#include "systole/runtime/serialized_program.h"
#include "systole/runtime/single_process.h"
#include "systole/stablehlo/text/text.h"
#include "systole/tpu_v1/assembler/assembler.h"
#include "systole/tpu_v1/isa/layout.h"

namespace systole::tpu_v1 {
namespace {

using runtime::Argument;
using runtime::CompileOptions;
using runtime::Event;
using runtime::HostPlacement;
using runtime::Result;

class TpuV1Executable : public runtime::Executable {
 public:
  TpuV1Executable(runtime::ProgramSource source, std::unique_ptr<StagedRunner> runner,
                  std::vector<std::shared_ptr<const HostPlacement>> placements, double seconds)
      : source_(std::move(source)), runner_(std::move(runner)), placements_(std::move(placements)) {
    const hlo::Computation& main = source_.module->entry();
    for (int i = 0; i < main.num_parameters(); ++i) {
      parameters_.push_back(main.parameter(i).type().storage());
      stats_.argument_bytes += parameters_.back().byte_size();
    }
    for (const hlo::Value& value : main.results()) {
      results_.push_back(value.type().storage());
      stats_.result_bytes += results_.back().byte_size();
    }
    for (const ModuleStage& stage : runner_->staged().stages) {
      stats_.code_bytes +=
          static_cast<int64_t>(stage.program.instructions.size() * kInstructionBytes);
    }
    stats_.compile_seconds = seconds;
  }

  std::span<const TensorType> parameter_types() const override { return parameters_; }
  std::span<const TensorType> result_types() const override { return results_; }
  const runtime::ExecutableStats& stats() const override { return stats_; }

  // The stages: modules of the host, and programs of the machine without their weights.
  std::string optimized_program() const override {
    std::string text;
    for (const ModuleStage& stage : runner_->staged().stages) {
      text += stage.host != nullptr ? "// host\n" + hlo::print(*stage.host)
                                    : "// tpu_v1\n" + disassemble(stage.program, false);
    }
    return text;
  }

  Event execute(std::span<const Argument> arguments, std::span<const Result> results,
                const runtime::ExecuteOptions&) override {
    const runtime::HostProgram program{.platform = "tpu_v1",
                                       .parameters = parameters_,
                                       .results = results_,
                                       .placements = placements_,
                                       .aliases = source_.module->aliases};
    return runtime::launch_on_host(
        program, arguments, results,
        [this](std::span<const Tensor> inputs) { return runner_->run(inputs); });
  }

  // The source, which deserialize() compiles again.
  std::string serialize() const override {
    return runtime::write_program("tpu_v1", *source_.module, source_.options);
  }

 private:
  runtime::ProgramSource source_;
  std::unique_ptr<StagedRunner> runner_;
  std::vector<std::shared_ptr<const HostPlacement>> placements_;
  std::vector<TensorType> parameters_;
  std::vector<TensorType> results_;
  runtime::ExecutableStats stats_;
};

class TpuV1Client : public runtime::HostClient {
 public:
  explicit TpuV1Client(const runtime::ClientOptions& options)
      : HostClient("tpu_v1", "TPU v1, simulated", 0, options) {}

  std::unique_ptr<runtime::Executable> compile(const hlo::Module& module,
                                               const CompileOptions& options) override {
    check_options(module, options);
    runtime::Client& host = runtime::client("cpu");
    if (!hlo::has_quantized_types(module)) {
      log_debug("tpu_v1: '{}' has no quantized op and runs on the host", module.name());
      return host.compile(module, options);
    }
    runtime::check_single_process("tpu_v1", options);
    if (options.num_replicas * options.num_partitions != 1) {
      throw unimplemented(
          "tpu_v1: replicas and partitions of a quantized program, got {} and {}, "
          "expected 1",
          options.num_replicas, options.num_partitions);
    }
    const auto start = std::chrono::steady_clock::now();
    auto runner = std::make_unique<StagedRunner>(module, MachineConfig(), host, options);
    std::vector<TensorType> results;
    for (const hlo::Value& value : module.entry().results())
      results.push_back(value.type().storage());
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    return std::make_unique<TpuV1Executable>(
        runtime::ProgramSource{.module = module.clone(), .options = options}, std::move(runner),
        result_placements(module, options, results), elapsed.count());
  }

  // Also of a program that ran on the host: its bytes have the same form.
  std::unique_ptr<runtime::Executable> deserialize(std::string_view bytes) override {
    const runtime::ProgramSource source = runtime::read_program("tpu_v1", bytes);
    return compile(*source.module, source.options);
  }
};

}  // namespace

std::unique_ptr<runtime::Client> make_client(const runtime::ClientOptions& options) {
  return std::make_unique<TpuV1Client>(
      runtime::resolve_options("tpu_v1", runtime::host_client_options(), options));
}

}  // namespace systole::tpu_v1
