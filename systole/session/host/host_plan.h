// Divides a run into host steps and device programs.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/session/device/feeds.h"
#include "systole/session/host/host_kernel.h"

namespace systole {

// Host nodes, one step each, and between them device programs, as large as possible: a device node
// belongs to the first program in which its inputs are available. Later programs read the results
// of earlier ones. Values that are known at compile time (constants, functions of shapes) are
// recomputed in each program that uses them, so that they stay known. A tf.Print of a device value
// is a host step after the program. Immutable.
struct HostPlan {
  struct Step {
    Node* node = nullptr;                // of a host step; null for a device program
    const HostKernel* kernel = nullptr;  // of the node
    std::vector<int> inputs;
    std::vector<int> outputs;
    // For a device program: its feeds, its fetches, and the nodes that it runs for their effect.
    std::vector<Output> fed;
    std::vector<Output> fetched;
    std::vector<Node*> targets;
  };
  std::vector<Step> steps;
  // Each value has a slot: first the feeds, in their order; then constants and results of steps.
  int num_slots = 0;
  std::vector<std::pair<int, Tensor>> constants;
  std::vector<int> fetch_slots;  // -1 for an operation
};

// Returns null if the fetches need no host step. `is_function`: plan a host function; the result is
// never null, and ops on images of unknown size run on the host if they have a kernel. Producers of
// fed tensors are left out. Errors: UNIMPLEMENTED if a device program changed variables that a
// later program of the run reads.
std::unique_ptr<HostPlan> plan_host_ops(std::span<const FetchKey> fetches,
                                        std::span<const Output> fed, bool is_function = false);

}  // namespace systole
