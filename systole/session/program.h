// A compiled program of a session: one set of fetches, fed tensors and fed types.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/graph/lowering/specialize.h"
#include "systole/runtime/client.h"
#include "systole/session/device/device_program.h"
#include "systole/session/device/feeds.h"
#include "systole/session/host/host_plan.h"

namespace systole {

// The fetches and feeds that a program is compiled for.
struct ProgramKey {
  std::vector<FetchKey> fetches;
  std::vector<Feed> feeds;
  bool device_only = false;  // see FeedValues

  std::string to_string() const;  // "fetch [train], feed X: f32[1,5]"
};

// Immutable; runs change SessionState only.
class Program {
 public:
  // Specialises and compiles. Errors: those of specialize() and Client::compile().
  Program(const Graph& graph, ProgramKey key, runtime::Client& client,
          const runtime::CompileOptions& options, SessionState& state);

  const ProgramKey& key() const { return key_; }
  bool matches(std::span<const FetchKey> fetches, const FeedValues& feeds) const;
  // Whether only one run may be active: the program updates variables or draws random numbers.
  bool exclusive() const { return device_.exclusive(); }
  bool reads_variables() const { return !device_.reads.empty(); }
  // The host steps of the run and the programs between them; null without host steps.
  const HostPlan* host_plan() const { return host_plan_.get(); }
  // Replicas that run the program in lockstep.
  int num_replicas() const { return num_replicas_; }
  double compile_seconds() const { return compile_seconds_; }
  // Whether the backend had the machine code already.
  bool code_cached() const {
    return device_.executable != nullptr && device_.executable->stats().code_cached;
  }

  // Runs the program and waits. `fetched` has one tensor a fetch and is written in place where its
  // memory fits; those of operations do not change. REQUIRES: the session's lock, exclusive if
  // exclusive(). Errors: FAILED_PRECONDITION for an uninitialised variable; that of a failed check;
  // those of the program.
  void run(const FeedValues& feeds, std::span<Tensor> fetched) const;

 private:
  void bind(const SpecializedProgram& program, SessionState& state);

  ProgramKey key_;
  std::unique_ptr<HostPlan> host_plan_;
  mutable DeviceProgram device_;  // its random state changes under the exclusive lock
  int num_replicas_ = 1;
  double compile_seconds_ = 0;
};

}  // namespace systole
