// Runs a HostPlan: host kernels, and device programs through whoever has the device.
#pragma once

#include <span>
#include <vector>

#include "systole/session/host/host_kernel.h"
#include "systole/session/host/host_plan.h"
#include "systole/session/host/string_interning.h"

namespace systole {

// Runs the device programs of plans.
class DeviceRunner {
 public:
  virtual ~DeviceRunner() = default;
  // One step of the plan: `fed[i]` is the value of step.fed[i], `fetched[i]` takes that of
  // step.fetched[i].
  virtual void run(const HostPlan::Step& step, std::span<const Tensor* const> fed,
                   std::span<Tensor> fetched) = 0;
};

// State of a session or a host function for its host steps.
struct HostContextState {
  HostResources resources;
  StringInterning strings;
};

// Runs the steps of the plan in order. `feeds[i]` is the value of feed i. `fetched` has a tensor
// for each fetch; those of operations do not change. A device program writes into the memory of the
// others where it fits and nobody shares it. Thread-safe if `device` is. Errors: those of kernels
// and programs, with the node.
void run_host_plan(const HostPlan& plan, std::span<const Tensor* const> feeds,
                   const HostEnvironment& environment, HostContextState& state,
                   DeviceRunner& device, std::span<Tensor> fetched);

}  // namespace systole
