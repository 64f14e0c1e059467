#include "systole/session/host/host_executor.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>

#include "systole/graph/core/node_builder.h"
#include "systole/tracing/span.h"

namespace systole {
namespace {

template <class T>
using HostSmall = absl::InlinedVector<T, 8>;

// The values of one run, by slot. Feeds are borrowed; constants belong to the plan.
class HostRun {
 public:
  HostRun(const HostPlan& plan, std::span<const Tensor* const> feeds,
          const HostEnvironment& environment, HostContextState& state, DeviceRunner& device)
      : environment_(environment), state_(state), device_(device) {
    values_.resize(static_cast<size_t>(plan.num_slots), nullptr);
    owned_.resize(values_.size());
    targets_.resize(values_.size(), nullptr);
    std::ranges::copy(feeds, values_.begin());
    for (const auto& [slot, value] : plan.constants) values_[slot] = &value;
  }

  // The device program that computes `slot` may take over the memory of `tensor`.
  void set_target(int slot, Tensor& tensor) { targets_[slot] = &tensor; }

  void run(const HostPlan::Step& step) {
    if (step.node == nullptr) {
      run_device(step);
    } else {
      run_host(step);
    }
  }

  Tensor result(int slot) const { return *values_[slot]; }

 private:
  void store(int slot, Tensor value) {
    const auto at = static_cast<size_t>(slot);
    owned_[at] = std::move(value);
    values_[at] = &owned_[at];
  }

  void run_device(const HostPlan::Step& step) {
    HostSmall<const Tensor*> fed;
    for (const int slot : step.inputs) fed.push_back(values_[slot]);
    HostSmall<Tensor> fetched(step.outputs.size());
    for (size_t i = 0; i < fetched.size(); ++i) {
      Tensor* const target = targets_[step.outputs[i]];
      if (target != nullptr) fetched[i] = std::move(*target);
    }
    device_.run(step, fed, {fetched.data(), fetched.size()});
    for (size_t i = 0; i < fetched.size(); ++i) store(step.outputs[i], std::move(fetched[i]));
  }

  void run_host(const HostPlan::Step& step) {
    const Node& node = *step.node;
    HostSmall<Tensor> inputs;
    for (const int slot : step.inputs) inputs.push_back(*values_[slot]);
    std::vector<Tensor> results;
    const int64_t begin = tracing::active() ? tracing::ticks() : 0;
    try {
      results = evaluate(step, {inputs.data(), inputs.size()});
    } catch (const Error& error) {
      throw at_node(error, node);
    }
    if (begin != 0) tracing::record_if_long(begin, node.name(), tracing::Kind::host);
    if (results.size() != step.outputs.size()) {
      throw internal_error("{}: kernel, got {} values, expected {}", node.describe(),
                           results.size(), step.outputs.size());
    }
    for (size_t i = 0; i < results.size(); ++i) store(step.outputs[i], std::move(results[i]));
  }

  std::vector<Tensor> evaluate(const HostPlan::Step& step, std::span<const Tensor> inputs) {
    const Node& node = *step.node;
    KernelContext context{node, inputs, environment_, state_.resources, state_.strings};
    return (*step.kernel)(context);
  }

  const HostEnvironment& environment_;
  HostContextState& state_;
  DeviceRunner& device_;
  HostSmall<const Tensor*> values_;
  HostSmall<Tensor> owned_;
  HostSmall<Tensor*> targets_;  // by slot; null for none
};

bool is_made_by_device(const HostPlan& plan, int slot) {
  return std::ranges::any_of(plan.steps, [&](const HostPlan::Step& step) {
    return step.node == nullptr && std::ranges::find(step.outputs, slot) != step.outputs.end();
  });
}

}  // namespace

void run_host_plan(const HostPlan& plan, std::span<const Tensor* const> feeds,
                   const HostEnvironment& environment, HostContextState& state,
                   DeviceRunner& device, std::span<Tensor> fetched) {
  HostRun run(plan, feeds, environment, state, device);
  for (size_t i = 0; i < fetched.size(); ++i) {
    const int slot = plan.fetch_slots[i];
    if (slot < 0 || !fetched[i].valid()) continue;
    if (is_made_by_device(plan, slot)) {
      run.set_target(slot, fetched[i]);
    } else {
      fetched[i] = Tensor();  // lets a kernel allocate this memory while it is in the CPU caches
    }
  }
  for (const HostPlan::Step& step : plan.steps) run.run(step);
  for (size_t i = 0; i < fetched.size(); ++i) {
    if (plan.fetch_slots[i] >= 0) fetched[i] = run.result(plan.fetch_slots[i]);
  }
}

}  // namespace systole
