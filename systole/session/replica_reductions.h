// HLO that makes one value of a value that differs between replicas.
#pragma once

#include "systole/graph/lowering/specialize.h"
#include "systole/hlo/ir/builder.h"

namespace systole {

// All-reduce of `x` over all replicas with the binary op `reducer`.
hlo::Value all_reduce(hlo::Builder& b, hlo::Value x, hlo::Opcode reducer);

// Returns the mean over replicas of a floating-point `x`, else the value of replica 0.
hlo::Value mean_or_first(hlo::Builder& b, hlo::Value x, int num_replicas);

// Returns the number of replicas of the replicated computation (tpu_replicate.h) that a run needs;
// 1 without one. Errors: INVALID_ARGUMENT for computations of different numbers of replicas; those
// of specialize().
int num_replicas_of(const Graph& graph, std::span<const Output> fetches,
                    std::span<Node* const> targets, std::span<const Feed> feeds);

// Rewrites the program of such a run so that every result is the same on all replicas.
// Errors: INVALID_ARGUMENT for a fetch that differs.
void reduce_varying_results(SpecializedProgram& program, const Graph& graph,
                            std::span<const Output> fetches, int num_replicas);

}  // namespace systole
