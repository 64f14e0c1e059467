#include <chrono>

#include "systole/backends/reference/reference_backend.h"
#include "systole/base/error.h"
#include "systole/hlo/ir/module.h"
#include "systole/hlo/passes/inline_calls.h"
#include "systole/hlo/passes/replicas/vectorize_replicas.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/runtime/host_client.h"
#include "systole/runtime/host_launch.h"
#include "systole/runtime/memory.h"
#include "systole/runtime/partitioned_program.h"
#include "systole/runtime/serialized_program.h"
#include "systole/runtime/single_process.h"
#include "systole/runtime/tpu_memory.h"

namespace systole::reference {
namespace {

using runtime::Argument;
using runtime::CompileOptions;
using runtime::Event;
using runtime::ExecutableStats;
using runtime::ExecuteOptions;
using runtime::HostPlacement;
using runtime::Result;

// The most bytes that values of `computation` take at one time while it is evaluated, its
// parameters left out: a value lives until its last use (see Evaluator::run). As a double, which
// does not overflow.
double peak_bytes(const hlo::Computation& computation) {
  std::unordered_map<const hlo::Instruction*, size_t> uses;
  const auto bytes = [](const hlo::Instruction& x) {
    double total = 0;
    for (const TensorType& type : x.results()) total += static_cast<double>(type.byte_size());
    return total;
  };
  double live = 0;
  double peak = 0;
  for (const hlo::Instruction* x : computation.instructions()) {
    if (x->is(hlo::Opcode::parameter)) continue;
    double inside = 0;
    for (const auto& region : x->regions()) inside = std::max(inside, peak_bytes(*region));
    uses[x] = x->users().size();
    live += bytes(*x);
    peak = std::max(peak, live + inside);
    for (const hlo::Value& operand : x->operands()) {
      const auto use = uses.find(operand.def);
      if (use != uses.end() && --use->second == 0) live -= bytes(*operand.def);
    }
  }
  return peak;
}

class ReferenceExecutable : public runtime::Executable {
 public:
  // Nobody may use more than `memory_limit` bytes a replica; 0: no limit.
  ReferenceExecutable(const hlo::Module& module, const CompileOptions& options,
                      int64_t memory_limit)
      : module_(module.clone()), options_(options), num_replicas_(options.num_replicas) {
    hlo::InlineCalls().run(*module_);
    const hlo::Computation& main = module_->entry();
    const std::vector<bool> varying =
        hlo::varying_results(*module_, {.num_replicas = options.num_replicas,
                                        .replicated_parameters = options.replicated_parameters});
    for (int i = 0; i < main.num_parameters(); ++i) {
      const bool given_once = num_replicas_ == 1 || (!options.replicated_parameters.empty() &&
                                                     options.replicated_parameters[i]);
      parameters_.push_back(given_once ? main.parameter(i).type().storage()
                                       : stacked(main.parameter(i)));
      stats_.argument_bytes += main.parameter(i).type().byte_size();
    }
    for (const hlo::Value& value : main.results()) {
      results_.push_back(varying[results_.size()] ? stacked(value) : value.type().storage());
      stats_.result_bytes += value.type().byte_size();
    }
    // Results are among the values that live at the end, and are copied for the caller.
    stats_.temp_bytes = static_cast<int64_t>(std::min(peak_bytes(main), 9e18));
    runtime::check_memory("reference", *module_, stats_, runtime::host_memory_bytes());
    if (memory_limit > 0) runtime::check_core_memory(module, memory_limit);
  }

  std::span<const TensorType> parameter_types() const override { return parameters_; }
  std::span<const TensorType> result_types() const override { return results_; }
  const ExecutableStats& stats() const override { return stats_; }
  void set_compile_seconds(double seconds) { stats_.compile_seconds = seconds; }
  // By result.
  void set_placements(std::vector<std::shared_ptr<const HostPlacement>> placements) {
    placements_ = std::move(placements);
  }
  std::string serialize() const override {
    return runtime::write_program("reference", *module_, options_);
  }

  Event execute(std::span<const Argument> arguments, std::span<const Result> results,
                const ExecuteOptions&) override {
    const runtime::HostProgram program{.platform = "reference",
                                       .parameters = parameters_,
                                       .results = results_,
                                       .placements = placements_,
                                       .aliases = module_->aliases};
    return runtime::launch_on_host(
        program, arguments, results, [this](std::span<const Tensor> inputs) {
          return num_replicas_ == 1 ? hlo::Evaluator().run(module_->entry(), inputs)
                                    : run_replicas(inputs);
        });
  }

 private:
  TensorType stacked(hlo::Value value) const {
    Dims dims = value.shape().dims();
    dims.insert(dims.begin(), num_replicas_);
    return {value.dtype(), Shape(dims)};
  }

  // Lane `replica` of a value of which every replica has its own, the value itself otherwise.
  static Tensor lane(const Tensor& value, const TensorType& own, int64_t replica) {
    if (value.type() == own) return value;
    return value.slice(replica, replica + 1).reshape(own.shape);
  }

  std::vector<Tensor> run_replicas(std::span<const Tensor> inputs) const {
    const hlo::Computation& main = module_->entry();
    std::vector<std::vector<Tensor>> arguments(static_cast<size_t>(num_replicas_));
    for (size_t r = 0; r < arguments.size(); ++r) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        arguments[r].push_back(lane(inputs[i], main.parameter(static_cast<int>(i)).type().storage(),
                                    static_cast<int64_t>(r)));
      }
    }
    const auto of_replicas = hlo::evaluate_replicated(*module_, arguments);
    std::vector<Tensor> outputs;
    for (size_t k = 0; k < results_.size(); ++k) {
      const TensorType own = main.results()[k].type().storage();
      Tensor output(results_[k]);
      for (size_t r = 0; r < of_replicas.size() && output.byte_size() > 0; ++r) {
        Tensor target = lane(output, own, static_cast<int64_t>(r));
        std::memcpy(target.raw(), of_replicas[r][k].raw(), static_cast<size_t>(own.byte_size()));
      }
      outputs.push_back(output);
    }
    return outputs;
  }

  std::unique_ptr<hlo::Module> module_;
  CompileOptions options_;
  int num_replicas_;
  std::vector<TensorType> parameters_;
  std::vector<TensorType> results_;
  ExecutableStats stats_;
  std::vector<std::shared_ptr<const HostPlacement>> placements_;
};

class ReferenceClient : public runtime::HostClient {
 public:
  explicit ReferenceClient(const runtime::ClientOptions& options)
      : HostClient("reference", "interpreter", 0, options) {}

  std::unique_ptr<runtime::Executable> compile(const hlo::Module& module,
                                               const CompileOptions& options) override {
    runtime::check_program_options("reference", options.program, {"profile"});
    check_options(module, options);
    if (options.num_partitions > 1) {
      const runtime::PartitionedProgram split = runtime::partition_program(module, options);
      return compile(*split.module, split.options);
    }
    check_custom_calls(module, [](const hlo::Instruction&) { return false; });
    runtime::check_single_process("reference", options);
    const auto start = std::chrono::steady_clock::now();
    auto executable = std::make_unique<ReferenceExecutable>(module, options, memory_limit(options));
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    executable->set_compile_seconds(elapsed.count());
    executable->set_placements(result_placements(module, options, executable->result_types()));
    return executable;
  }

  std::unique_ptr<runtime::Executable> deserialize(std::string_view bytes) override {
    const runtime::ProgramSource source = runtime::read_program("reference", bytes);
    return compile(*source.module, source.options);
  }
};

}  // namespace

std::unique_ptr<runtime::Client> make_client(const runtime::ClientOptions& options) {
  return std::make_unique<ReferenceClient>(
      runtime::resolve_options("reference", runtime::host_client_options(), options));
}

}  // namespace systole::reference
