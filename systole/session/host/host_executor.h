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

// What host steps need besides their inputs. Thread-safe where its users are.
struct HostContextState {
  HostResources resources;
  StringInterning strings;
};

// Runs the plan's steps in order. `feeds[i]` is the value of the plan's feed i, `fetched` has a
// tensor for each fetch: those of operations are left alone, and the others are where a device
// program may put what is fetched, if nobody shares their memory. Thread-safe when `device` is.
// Errors: what kernels and programs throw, with the node.
void run_host_plan(const HostPlan& plan, std::span<const Tensor* const> feeds,
                   const HostEnvironment& environment, HostContextState& state,
                   DeviceRunner& device, std::span<Tensor> fetched);

}  // namespace systole
