// Values that differ between replicas, made one value for all of them, in HLO.
#pragma once

#include "systole/graph/lowering/specialize.h"
#include "systole/hlo/ir/builder.h"

namespace systole {

hlo::Value all_reduce(hlo::Builder& b, hlo::Value x, hlo::Opcode reducer);

// The mean over replicas of a floating x, replica 0's otherwise: what a variable keeps.
hlo::Value mean_or_first(hlo::Builder& b, hlo::Value x, int num_replicas);

// How many replicas a run needs: 1, unless it needs a replicated computation (tpu_replicate.h).
// Errors: INVALID_ARGUMENT for computations of different numbers of replicas; those of
// specialize().
int num_replicas_of(const Graph& graph, std::span<const Output> fetches,
                    std::span<Node* const> targets, std::span<const Feed> feeds);

// Makes the program of such a run one whose results are the same on all replicas.
// Errors: INVALID_ARGUMENT for a fetch that differs.
void unite_replicas(SpecializedProgram& program, const Graph& graph,
                    std::span<const Output> fetches, int num_replicas);

}  // namespace systole
