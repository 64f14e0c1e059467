// Runs the ops of a graph that live on the host: strings, IO, the system itself.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "systole/graph/graph.h"
#include "systole/graph/op_def.h"
#include "systole/session/feeds.h"

namespace systole {

// The host ops that a set of fetches needs, in order, and the split that follows: their results
// that a device program reads become feeds of it.
struct HostPlan {
  std::vector<Node*> nodes;
  std::vector<Output> device_feeds;
};

// Null when the fetches need no host op. Nodes behind a fed tensor are not needed.
std::unique_ptr<HostPlan> plan_host_ops(std::span<const FetchKey> fetches,
                                        std::span<const Output> fed);

// Values of the plan's nodes, by output.
class HostValues {
 public:
  // Errors: UNIMPLEMENTED when a host op reads what only a device computes; what the kernels throw,
  // with the node.
  HostValues(const HostPlan& plan, const FeedValues& feeds, const HostEnvironment& environment);
  // Null when the output is none of the plan's.
  const Tensor* find(Output output) const;

 private:
  Tensor input_value(const Node& node, Output input, const FeedValues& feeds) const;
  std::vector<std::pair<Output, Tensor>> values_;
};

}  // namespace systole
