// A compiled program of a session: one set of fetches, fed tensors and fed types.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/graph/api/graph.h"
#include "systole/graph/lowering/specialize.h"
#include "systole/runtime/client.h"
#include "systole/session/device_program.h"
#include "systole/session/feeds.h"
#include "systole/session/host/host_plan.h"

namespace systole {

// What a program is made for.
struct ProgramKey {
  std::vector<FetchKey> fetches;
  std::vector<Feed> feeds;
  bool device_only = false;  // see FeedValues

  std::string to_string() const;  // "fetch [train], feed X: f32[1,5]"
};

// Immutable once made; what a run changes lies in SessionState.
class Program {
 public:
  // Specialises and compiles. Errors: see specialize() and Client::compile().
  Program(const Graph& graph, ProgramKey key, runtime::Client& client,
          const runtime::CompileOptions& options, SessionState& state);

  const ProgramKey& key() const { return key_; }
  bool matches(std::span<const FetchKey> fetches, const FeedValues& feeds) const;
  // Whether runs must take turns: it updates variables or counts random draws.
  bool exclusive() const { return device_.exclusive(); }
  bool reads_variables() const { return !device_.reads.empty(); }
  // What the host does of it, and the programs between; null for nearly all programs.
  const HostPlan* host_plan() const { return host_plan_.get(); }
  // That run it in lockstep.
  int num_replicas() const { return num_replicas_; }
  double compile_seconds() const { return compile_seconds_; }
  // The backend had its machine code already.
  bool code_cached() const {
    return device_.executable != nullptr && device_.executable->stats().code_cached;
  }

  // Runs the device part. `fetched` has one tensor a fetch and is written in place where its memory
  // fits; those of operations are left alone. REQUIRES: the session's lock, exclusive when
  // exclusive() says so. Errors: FAILED_PRECONDITION for an uninitialised variable; a failed
  // check's own.
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
