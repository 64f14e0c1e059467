// Which parts of a run the host executes, which a device, and in what order.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "systole/graph/api/graph.h"
#include "systole/session/feeds.h"
#include "systole/session/host/host_kernel.h"

namespace systole {

// Host nodes one by one and, between them, device programs as large as they can be: a node on a
// device belongs to the first program that can have it, and a later program reads an earlier one's
// results. What is known when a program is compiled (constants, and what follows from shapes) is
// computed again where it is used, so that it stays known. What a device prints (tf.Print) is a
// step of the host behind it, which nothing waits for. Immutable.
struct HostPlan {
  struct Step {
    Node* node = nullptr;                // on the host; null for a device program
    const HostKernel* kernel = nullptr;  // the node's
    std::vector<int> inputs;
    std::vector<int> outputs;
    // Of a device program: what it is fed, fetched from it, and run for its effect.
    std::vector<Output> fed;
    std::vector<Output> fetched;
    std::vector<Node*> targets;
  };
  std::vector<Step> steps;
  // Values are kept by slot: those of feeds (in the order of the feeds), constants, steps.
  int num_slots = 0;
  std::vector<std::pair<int, Tensor>> constants;
  std::vector<int> fetch_slots;  // -1 for an operation
};

// Null when the fetches need nothing of the host. `is_function`: of a host function, where there is
// a plan in any case, and ops that have a kernel for all sizes of images run on the host when those
// are not known. Nodes behind a fed tensor are not needed. Errors: UNIMPLEMENTED where a device
// program would change variables that a later one of the same run reads.
std::unique_ptr<HostPlan> plan_host_ops(std::span<const FetchKey> fetches,
                                        std::span<const Output> fed, bool is_function = false);

}  // namespace systole
