// A function of one element as a function of a batch of them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "systole/graph/api/graph.h"

namespace systole {

struct VectorizedGraph {
  std::shared_ptr<Graph> graph;
  std::vector<Output> args;
  std::vector<Output> results;
};

// Rebuilds what `results` need of `args`, each with a new first dimension of unknown size, op by
// op. The last `shared` of them stay as they are: one value for all rows. nullopt when an op, or
// the way it is used, has no form for a batch, or a result does not depend on the other arguments.
std::optional<VectorizedGraph> vectorize(std::span<const Output> args,
                                         std::span<const Output> results, size_t shared = 0);

}  // namespace systole
