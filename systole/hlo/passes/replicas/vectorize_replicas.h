// Rewrites the program of a replica into one program for all replicas, as jax.vmap does along an
// axis.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// The processes that run a program together, each with as many replicas.
struct ProcessSpan {
  int count = 1;
  int index = 0;  // of this process: its replicas are those from index * num_replicas
};

struct ReplicaOptions {
  int num_replicas = 1;  // of this process
  // If given, sums over replicas are calls of kSumReplicas, whose order does not depend on how
  // processes share the replicas. Absent: this process has all replicas.
  std::optional<ProcessSpan> processes = std::nullopt;
  // Whether the replicas run one after another where they do not meet, so that they share the
  // memory of intermediate values. What they exchange is stacked.
  bool in_turn = false;
  // Per parameter of main: whether the caller passes one value for all replicas (a variable, a
  // number of steps). Empty: no parameter.
  std::vector<bool> replicated_parameters;
};

// Targets of the custom calls of a program that spans processes. The first returns the sum of a
// stacked value over the replicas of all processes, in pairs. The second returns the value with the
// replicas of all processes along its first axis. Each process makes the same calls in one order.
inline constexpr const char* kSumReplicas = "systole.sum_replicas";
inline constexpr const char* kGatherReplicas = "systole.gather_replicas";

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
// product becomes a product that also contracts over the replica axis, unless the program spans
// processes or runs the replicas in turn. Replicas in turn are loops over the replicas, one between
// any two collective ops of which one needs the other; sums over replicas are added up in them.
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
