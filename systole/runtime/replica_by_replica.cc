#include "systole/runtime/replica_by_replica.h"

#include <cassert>
#include <cstring>
#include <utility>

#include "systole/base/error.h"
#include "systole/runtime/host_buffer.h"

namespace systole::runtime {
namespace {

size_t bytes_of(const TensorType& type) { return static_cast<size_t>(type.byte_size()); }

const void* data_of(const Argument& argument) {
  if (argument.host != nullptr) return argument.host->raw();
  assert(dynamic_cast<HostBuffer*>(argument.buffer) != nullptr);
  return static_cast<HostBuffer*>(argument.buffer)->data();
}

bool in_a_row(std::span<const void* const> lanes, size_t bytes) {
  for (size_t r = 1; r < lanes.size(); ++r) {
    if (static_cast<const std::byte*>(lanes[0]) + r * bytes != lanes[r]) return false;
  }
  return true;
}

void store(const void* from, const TensorType& type, const Result& to) {
  Tensor value;
  Tensor& target = to.host != nullptr ? *to.host : value;
  const bool fits = target.unique() && target.dtype() == type.dtype && target.shape() == type.shape;
  if (!fits) target = Tensor(type);
  std::memcpy(target.raw(), from, bytes_of(type));
  if (to.device != nullptr) *to.device = std::make_unique<HostBuffer>(target.clone());
}

class ReplicaByReplica : public Executable {
 public:
  ReplicaByReplica(std::unique_ptr<Executable> stacked, const hlo::Module& module, int num_replicas)
      : stacked_(std::move(stacked)),
        num_replicas_(static_cast<size_t>(num_replicas)),
        aliases_(module.aliases) {
    const hlo::Computation& main = module.entry();
    for (int i = 0; i < main.num_parameters(); ++i) parameters_.push_back(main.parameter(i).type());
    for (const hlo::Value& value : main.results()) results_.push_back(value.type());
  }

  std::span<const TensorType> parameter_types() const override { return parameters_; }
  std::span<const TensorType> result_types() const override { return results_; }
  const ExecutableStats& stats() const override { return stacked_->stats(); }
  std::string optimized_program() const override { return stacked_->optimized_program(); }

  void execute(std::span<const Argument> arguments, std::span<const Result> results,
               const ExecuteOptions& options) override {
    if (arguments.size() != num_replicas_ * parameters_.size() ||
        results.size() != num_replicas_ * results_.size()) {
      throw invalid_argument(
          "execute: number of arguments and results, got {} and {}, expected {} and {}",
          arguments.size(), results.size(), num_replicas_ * parameters_.size(),
          num_replicas_ * results_.size());
    }
    std::vector<Tensor> inputs(parameters_.size());
    std::vector<Argument> stacked;
    for (size_t p = 0; p < parameters_.size(); ++p) {
      if (!parameter_varies(p)) {
        stacked.push_back(arguments[p]);
        continue;
      }
      inputs[p] = gather(arguments, p);
      stacked.push_back({.host = &inputs[p]});
    }
    std::vector<Tensor> outputs(results_.size());
    std::vector<Result> targets;
    for (size_t k = 0; k < results_.size(); ++k) targets.push_back(target(results, k, outputs[k]));
    stacked_->execute(stacked, targets, options);
    for (size_t k = 0; k < results_.size(); ++k) scatter(results, k, outputs[k]);
    for (const auto& [parameter, result] : aliases_) {
      const auto k = static_cast<size_t>(result);
      if (result_varies(k)) update(arguments, static_cast<size_t>(parameter), outputs[k]);
    }
  }

 private:
  bool parameter_varies(size_t p) const { return stacked_->parameter_types()[p] != parameters_[p]; }
  bool result_varies(size_t k) const { return stacked_->result_types()[k] != results_[k]; }

  Tensor gather(std::span<const Argument> arguments, size_t p) const {
    const TensorType& type = stacked_->parameter_types()[p];
    const size_t bytes = bytes_of(parameters_[p]);
    std::vector<const void*> lanes;
    for (size_t r = 0; r < num_replicas_; ++r) {
      lanes.push_back(data_of(arguments[r * parameters_.size() + p]));
    }
    if (in_a_row(lanes, bytes)) {
      return Tensor::view(type.dtype, type.shape, const_cast<void*>(lanes[0]));
    }
    Tensor result(type);
    for (size_t r = 0; r < num_replicas_; ++r) {
      std::memcpy(static_cast<std::byte*>(result.raw()) + r * bytes, lanes[r], bytes);
    }
    return result;
  }

  const Result& result_of(std::span<const Result> results, size_t replica, size_t k) const {
    return results[replica * results_.size() + k];
  }

  // One value goes where replica 0 wants it, or nowhere when nobody does: it may be in place.
  Result target(std::span<const Result> results, size_t k, Tensor& output) const {
    if (result_varies(k)) return {.host = &output};
    for (size_t r = 1; r < num_replicas_; ++r) {
      const Result& other = result_of(results, r, k);
      if (other.device != nullptr || other.host != nullptr) return {.host = &output};
    }
    return result_of(results, 0, k);
  }

  void scatter(std::span<const Result> results, size_t k, const Tensor& output) const {
    if (!output.valid()) return;
    const size_t step = result_varies(k) ? bytes_of(results_[k]) : 0;
    for (size_t r = 0; r < num_replicas_; ++r) {
      const Result& result = result_of(results, r, k);
      if (result.device == nullptr && result.host == nullptr) continue;
      store(static_cast<const std::byte*>(output.raw()) + r * step, results_[k], result);
    }
  }

  // The buffers of an aliased parameter take its lanes.
  void update(std::span<const Argument> arguments, size_t p, const Tensor& output) const {
    const size_t bytes = bytes_of(parameters_[p]);
    for (size_t r = 0; r < num_replicas_; ++r) {
      Buffer* const buffer = arguments[r * parameters_.size() + p].buffer;
      if (buffer == nullptr) continue;
      std::memcpy(static_cast<HostBuffer*>(buffer)->data(),
                  static_cast<const std::byte*>(output.raw()) + r * bytes, bytes);
    }
  }

  std::unique_ptr<Executable> stacked_;
  size_t num_replicas_;
  std::vector<TensorType> parameters_;
  std::vector<TensorType> results_;
  std::vector<hlo::Module::Alias> aliases_;
};

}  // namespace

std::unique_ptr<Executable> replica_by_replica(std::unique_ptr<Executable> stacked,
                                               const hlo::Module& module, int num_replicas) {
  return std::make_unique<ReplicaByReplica>(std::move(stacked), module, num_replicas);
}

}  // namespace systole::runtime
