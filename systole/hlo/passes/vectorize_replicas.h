// Rewrites the program of a replica into one program for all replicas, as jax.vmap does along an
// axis.
#pragma once

#include <memory>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

struct ReplicaOptions {
  int num_replicas = 1;
  // Per parameter of main: whether the caller passes one value for all replicas (a variable, a
  // number of steps). Empty: no parameter.
  std::vector<bool> replicated_parameters;
};

// The module, and which parameters and results have a leading axis of num_replicas. The others have
// one value for all replicas; for results this is proved.
struct ReplicatedModule {
  std::unique_ptr<Module> module;
  std::vector<bool> varying_parameters;
  std::vector<bool> varying_results;
};

// Rewrites the program that every replica runs (with one partition) into one program that computes
// all replicas in lockstep. A value that varies between replicas gets a leading replica axis. A
// value that is equal on all replicas (constants, replicated parameters, sums over all replicas,
// and values that depend only on these) is computed once. Collective ops become data movement and
// reductions along the replica axis, in the order of the replicas. The sum over replicas of a
// product becomes a product that also contracts over the replica axis.
//
// REQUIRES: no calls and composites (InlineCalls).
//
// Errors: INVALID_ARGUMENT for groups beyond the replicas, for a collective op inside a condition
// that varies, and for a replicated parameter aliased with a result that varies. UNIMPLEMENTED for
// infeed, outfeed, send, recv, and for programs exported for several devices that run as one
// replica.
ReplicatedModule vectorize_replicas(const Module& module, const ReplicaOptions& options);

// Returns whether the program reads its replica id or communicates: whether it has an instruction
// that only vectorize_replicas removes.
bool uses_replicas(const Module& module);

// Returns, per result of main, whether it may vary between replicas.
std::vector<bool> varying_results(const Module& module, const ReplicaOptions& options);

}  // namespace systole::hlo
