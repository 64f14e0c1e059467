// Turns a function of one element into a function of a batch.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "systole/graph/core/graph.h"

namespace systole {

struct VectorizedGraph {
  std::shared_ptr<Graph> graph;
  std::vector<Output> args;
  std::vector<Output> results;
};

// Rebuilds the graph from `args` to `results`, op by op, with a new first dimension of unknown
// size. The last `shared` arguments keep their shapes: one value for all rows. Returns nullopt if
// an op has no batched form, or a result depends on shared arguments alone.
std::optional<VectorizedGraph> vectorize(std::span<const Output> args,
                                         std::span<const Output> results, size_t shared = 0);

}  // namespace systole
