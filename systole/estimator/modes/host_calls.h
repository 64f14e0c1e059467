// Calls a model's host_call with the values of each step of a launch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "systole/estimator/spec.h"
#include "systole/train/loop/watchdog.h"

namespace systole::estimator {

// Returns what a launch must fetch of every step: the host_call's tensors, then the example mask,
// if valid, by which padding rows are removed. Empty without a host_call.
std::vector<Output> host_call_fetches(const HostCall& host_call, const Output& mask);

struct HostCallRun {
  int64_t first = 0;  // the global step before the launch
  int64_t steps = 1;
  int64_t in_loop = 0;         // steps of the same loop before the launch
  int64_t every = 1;           // one call for so many steps of a loop, with the first of them
  bool first_replica = false;  // only the values of replica 0: all have the same batch
};

// Calls the function for each step. `fetched`: the values of host_call_fetches(),
// [steps, replicas, ...]. A call gets [replicas * batch, ...] of each tensor (scalars: [replicas]),
// without padding rows if there is a mask. Errors: those of the function, with the step and its
// line.
void run_host_calls(const HostCall& host_call, std::span<const Tensor> fetched,
                    const HostCallRun& run, train::Heartbeat& heartbeat);

}  // namespace systole::estimator
