// One program for all replicas: what jax.vmap does along an axis, for the axis of the replicas.
#pragma once

#include <memory>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

struct ReplicaOptions {
  int num_replicas = 1;
  // By parameter of main: the caller promises one value for all replicas (a variable, a number of
  // steps). Empty: none.
  std::vector<bool> replicated_parameters;
};

// The module, and which of its parameters and results have a leading axis of num_replicas. Others
// are one value for all replicas, proved so for results.
struct ReplicatedModule {
  std::unique_ptr<Module> module;
  std::vector<bool> varying_parameters;
  std::vector<bool> varying_results;
};

// Writes the program that every replica runs (with one partition) as one program that computes all
// of them in lockstep. A value that differs between replicas gets the replicas as its first axis; a
// value that is the same on all of them (constants, replicated parameters, sums over all replicas,
// and what depends on these alone) is computed once. Collective ops become data movement and
// reductions along that axis, in the order of the replicas; the sum over replicas of a product is a
// product that contracts over them too.
// REQUIRES: no calls and composites (InlineCalls).
// Errors: INVALID_ARGUMENT for groups beyond the replicas; for a collective op inside of a
// condition that differs between replicas; when a replicated parameter is aliased with a result
// that differs. UNIMPLEMENTED for infeed, outfeed, send and recv.
ReplicatedModule vectorize_replicas(const Module& module, const ReplicaOptions& options);

// True when the program asks who runs it, or talks to other replicas: it has an instruction that
// only vectorize_replicas removes.
bool uses_replicas(const Module& module);

// By result of main: whether it may differ between replicas.
std::vector<bool> varying_results(const Module& module, const ReplicaOptions& options);

}  // namespace systole::hlo
