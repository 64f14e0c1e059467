#include <chrono>

#include "systole/backends/reference/reference_backend.h"
#include "systole/base/error.h"
#include "systole/hlo/ir/module.h"
#include "systole/hlo/passes/inline_calls.h"
#include "systole/hlo/passes/vectorize_replicas.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/runtime/host_buffer.h"
#include "systole/runtime/memory.h"
#include "systole/runtime/replica_by_replica.h"

namespace systole::reference {
namespace {

using runtime::Argument;
using runtime::CompileOptions;
using runtime::Device;
using runtime::ExecutableStats;
using runtime::ExecuteOptions;
using runtime::HostBuffer;
using runtime::Result;

HostBuffer& host_buffer(runtime::Buffer& buffer) {
  auto* result = dynamic_cast<HostBuffer*>(&buffer);
  if (result == nullptr) {
    throw invalid_argument(
        "reference: argument, got another backend's buffer, expected one of its own");
  }
  return *result;
}

// `value` into the memory of `target` when it fits and nobody shares it, as Result::host promises.
void store(const Tensor& value, Tensor& target) {
  if (target.valid() && target.type() == value.type() && target.unique()) {
    std::memcpy(target.raw(), value.raw(), static_cast<size_t>(value.byte_size()));
  } else {
    target = value.clone();
  }
}

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
  ReferenceExecutable(const hlo::Module& module, const CompileOptions& options)
      : module_(module.clone()), num_replicas_(options.num_replicas) {
    hlo::InlineCalls().run(*module_);
    const hlo::Computation& main = module_->entry();
    const std::vector<bool> varying =
        hlo::varying_results(*module_, {.num_replicas = options.num_replicas,
                                        .replicated_parameters = options.replicated_parameters});
    for (int i = 0; i < main.num_parameters(); ++i) {
      const bool given_once =
          num_replicas_ == 1 || (!options.replicated_parameters.empty() &&
                                 options.replicated_parameters[static_cast<size_t>(i)]);
      parameters_.push_back(given_once ? main.parameter(i).type() : stacked(main.parameter(i)));
      stats_.argument_bytes += main.parameter(i).type().byte_size();
    }
    for (const hlo::Value& value : main.results()) {
      results_.push_back(varying[results_.size()] ? stacked(value) : value.type());
      stats_.result_bytes += value.type().byte_size();
    }
    // Results are among the values that live at the end, and are copied for the caller.
    stats_.temp_bytes = static_cast<int64_t>(std::min(peak_bytes(main), 9e18));
    runtime::check_memory("reference", *module_, stats_, runtime::host_memory_bytes());
    if (options.memory_limit > 0)
      runtime::check_memory("core", *module_, stats_, options.memory_limit);
  }

  std::span<const TensorType> parameter_types() const override { return parameters_; }
  std::span<const TensorType> result_types() const override { return results_; }
  const ExecutableStats& stats() const override { return stats_; }
  void set_compile_seconds(double seconds) { stats_.compile_seconds = seconds; }

  void execute(std::span<const Argument> arguments, std::span<const Result> results,
               const ExecuteOptions&) override {
    if (arguments.size() != parameters_.size() || results.size() != results_.size()) {
      throw invalid_argument("reference: arguments and results, got {} and {}, expected {} and {}",
                             arguments.size(), results.size(), parameters_.size(), results_.size());
    }
    std::vector<Tensor> inputs;
    for (const Argument& argument : arguments) {
      inputs.push_back(argument.buffer != nullptr ? host_buffer(*argument.buffer).value()
                                                  : *argument.host);
    }
    std::vector<Tensor> outputs =
        num_replicas_ == 1 ? hlo::Evaluator().run(module_->entry(), inputs) : run_replicas(inputs);
    // An output may be one of the inputs itself, which its owner may change later.
    for (Tensor& output : outputs) output = output.clone();
    for (const auto& [parameter, result] : module_->aliases) {
      const Argument& argument = arguments[static_cast<size_t>(parameter)];
      if (argument.buffer == nullptr) continue;
      host_buffer(*argument.buffer).set_value(outputs[static_cast<size_t>(result)].clone());
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (results[i].device != nullptr) {
        *results[i].device = std::make_unique<HostBuffer>(outputs[i]);
      } else if (results[i].host != nullptr) {
        store(outputs[i], *results[i].host);
      }
    }
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
        arguments[r].push_back(
            lane(inputs[i], main.parameter(static_cast<int>(i)).type(), static_cast<int64_t>(r)));
      }
    }
    const auto of_replicas = hlo::evaluate_replicated(*module_, arguments);
    std::vector<Tensor> outputs;
    for (size_t k = 0; k < results_.size(); ++k) {
      const TensorType& own = main.results()[k].type();
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
  int num_replicas_;
  std::vector<TensorType> parameters_;
  std::vector<TensorType> results_;
  ExecutableStats stats_;
};

class ReferenceClient : public runtime::Client {
 public:
  std::string_view platform() const override { return "reference"; }
  std::span<const Device> devices() const override { return {&device_, 1}; }

  std::unique_ptr<runtime::Executable> compile(const hlo::Module& module,
                                               const CompileOptions& options) override {
    if (options.bf16_products) {
      throw unimplemented("reference cannot round products to bf16: it keeps the program's types");
    }
    const auto start = std::chrono::steady_clock::now();
    auto executable = std::make_unique<ReferenceExecutable>(module, options);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    executable->set_compile_seconds(elapsed.count());
    if (options.stacked || options.num_replicas == 1) return executable;
    return runtime::replica_by_replica(std::move(executable), module, options.num_replicas);
  }

  std::unique_ptr<runtime::Buffer> buffer_from_host(const Tensor& tensor, int device_id) override {
    if (device_id != 0) {
      throw invalid_argument("reference: device, got {}, expected 0", device_id);
    }
    return std::make_unique<HostBuffer>(tensor.clone());
  }

 private:
  Device device_{.id = 0, .name = "reference:0", .kind = "interpreter"};
};

}  // namespace

std::unique_ptr<runtime::Client> make_client() { return std::make_unique<ReferenceClient>(); }

}  // namespace systole::reference
