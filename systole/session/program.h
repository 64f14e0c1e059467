// A compiled program of a session: one set of fetches, fed tensors and fed types.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "systole/graph/api/graph.h"
#include "systole/graph/lowering/specialize.h"
#include "systole/runtime/client.h"
#include "systole/session/feeds.h"
#include "systole/session/host/host_plan.h"
#include "systole/session/variable_snapshot.h"

namespace systole {

// Where a session keeps a variable between runs; empty until it is initialised.
struct VariableSlot {
  std::shared_ptr<runtime::Buffer> buffer;
  // Of the snapshot that shares the buffer, or did; null for none.
  std::shared_ptr<const SnapshotHold> hold;

  void set(std::shared_ptr<runtime::Buffer> value) {
    buffer = std::move(value);
    hold.reset();
  }
  // A snapshot has the buffer: nobody may write there.
  bool held() const { return hold != nullptr && !hold->released(); }
  // Leaves a held buffer to the snapshot and goes on with a copy.
  void own(runtime::Client& client);
};

// The state of a session that programs point into. Entries are never removed, so that their
// addresses stay. Looking an entry up is thread-safe; its contents belong to the session's lock.
class SessionState {
 public:
  explicit SessionState(uint64_t entropy) : entropy_(entropy) {}

  VariableSlot& slot(const Node* handle) {
    const std::lock_guard lock(mutex_);
    return variables_[handle];
  }
  // How often a random node has run.
  uint64_t& run_count(const Node* random_node) {
    const std::lock_guard lock(mutex_);
    return run_counts_[random_node];
  }
  // 0 for one that never did; adds no entry.
  uint64_t times_run(const Node* random_node) {
    const std::lock_guard lock(mutex_);
    const auto it = run_counts_.find(random_node);
    return it == run_counts_.end() ? 0 : it->second;
  }
  uint64_t entropy() const { return entropy_; }
  void set_entropy(uint64_t entropy) { entropy_ = entropy; }
  // Frees all values.
  void clear();

 private:
  std::atomic<uint64_t> entropy_;
  std::mutex mutex_;  // guards the two maps, not what they hold
  std::unordered_map<const Node*, VariableSlot> variables_;
  std::unordered_map<const Node*, uint64_t> run_counts_;
};

// "Attempting to use uninitialized value w_1..."
Error uninitialized_variable(const Node& handle);

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
  bool exclusive() const { return exclusive_; }
  bool reads_variables() const { return !reads_.empty(); }
  // What the host does of it, and the programs between; null for nearly all programs.
  const HostPlan* host_plan() const { return host_plan_.get(); }
  // That run it in lockstep.
  int num_replicas() const { return num_replicas_; }
  double compile_seconds() const { return compile_seconds_; }
  // The backend had its machine code already.
  bool code_cached() const { return executable_ != nullptr && executable_->stats().code_cached; }

  // Runs the device part. `fetched` has one tensor a fetch and is written in place where its memory
  // fits; those of operations are left alone. REQUIRES: the session's lock, exclusive when
  // exclusive() says so. Errors: FAILED_PRECONDITION for an uninitialised variable; a failed
  // check's own.
  void run(const FeedValues& feeds, std::span<Tensor> fetched) const;

 private:
  struct VariableUse {
    VariableSlot* slot;
    const Node* handle;
  };
  struct Update {
    VariableSlot* slot;
    bool in_place;  // the backend wrote it over the argument
  };

  void bind(const SpecializedProgram& program, SessionState& state);
  void advance_random_state() const;
  void throw_failed_checks(std::span<const Tensor> flags) const;

  ProgramKey key_;
  runtime::Client& client_;
  std::unique_ptr<HostPlan> host_plan_;
  std::unique_ptr<runtime::Executable> executable_;
  std::vector<VariableUse> reads_;
  std::vector<Update> updates_;
  std::vector<uint64_t*> run_counts_;
  const SessionState* session_state_ = nullptr;
  mutable Tensor random_state_;  // changed under the exclusive lock
  std::vector<SpecializedProgram::Check> checks_;
  bool exclusive_ = false;
  int num_replicas_ = 1;
  double compile_seconds_ = 0;
};

}  // namespace systole
