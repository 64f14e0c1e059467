// Gives a model's host_call what launches have fetched for it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "systole/estimator/spec.h"
#include "systole/train/loop/watchdog.h"

namespace systole::estimator {

// What a launch must fetch of every step: the host_call's tensors; then the example mask, where
// there is one and rows that fill a batch up are to be left out. Empty without a host_call.
std::vector<Output> host_call_fetches(const HostCall& host_call, const Output& mask);

struct HostCallRun {
  int64_t first = 0;  // steps before the launch
  int64_t steps = 1;
  int64_t in_loop = 0;         // of these, steps of the same loop
  int64_t every = 1;           // calls for the first of so many steps of a loop alone
  bool first_replica = false;  // all replicas have the same batch: the first one's values alone
};

// One call a step. `fetched`: [steps, replicas, ...] each of what host_call_fetches() says. A call
// gets [replicas * batch, ...] of each tensor (scalars: [replicas]); with the mask, of a tensor
// that has a row for each example, the real ones alone.
void run_host_calls(const HostCall& host_call, std::span<const Tensor> fetched,
                    const HostCallRun& run, train::Heartbeat& heartbeat);

}  // namespace systole::estimator
