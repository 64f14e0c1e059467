// Fetches and feeds of a run, resolved to nodes.
#pragma once

#include <span>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/graph/core/graph.h"

namespace systole {

// A fetch: output `index` of the node, or the node's effect when it is -1.
struct FetchKey {
  Node* node = nullptr;
  int index = 0;
  bool is_operation() const { return index < 0; }
  friend bool operator==(const FetchKey&, const FetchKey&) = default;
};

// Returns those that are tensors, in their order.
std::vector<Output> outputs_among(std::span<const FetchKey> fetches);
// Returns the nodes of those that are operations, in their order.
std::vector<Node*> targets_among(std::span<const FetchKey> fetches);

// Feeds of one run, borrowed: `values[i]` is the value of `keys[i]`.
struct FeedValues {
  std::span<const Output> keys;
  std::span<const Tensor* const> values;
  // The host steps have run and their results are fed: only a device program is wanted.
  bool device_only = false;

  size_t size() const { return keys.size(); }
  const Tensor* find(Output key) const;  // null if it is not fed
};

}  // namespace systole
