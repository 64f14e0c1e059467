// The values that a session keeps between runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "systole/base/mutex.h"
#include "systole/graph/core/graph.h"
#include "systole/runtime/client.h"
#include "systole/session/device/variable_snapshot.h"

namespace systole {

// The buffer of a variable; null until the variable is initialised.
struct VariableSlot {
  std::shared_ptr<runtime::Buffer> buffer;
  // Holds the snapshot that shares the buffer, or did; null for none.
  std::shared_ptr<const SnapshotHold> hold;

  void set(std::shared_ptr<runtime::Buffer> value) {
    buffer = std::move(value);
    hold.reset();
  }
  // A snapshot shares the buffer: it must not be donated.
  bool held() const { return hold != nullptr && !hold->released(); }
};

// The variables and random counters of a session, which programs point into. Entries are never
// removed, so that their addresses stay. Looking an entry up is thread-safe; its contents belong to
// the session's lock.
class SessionState {
 public:
  explicit SessionState(uint64_t entropy) : entropy_(entropy) {}

  VariableSlot& slot(const Node* handle) {
    const MutexLock lock(mutex_);
    return variables_[handle];
  }
  // How often a random node has run.
  uint64_t& run_count(const Node* random_node) {
    const MutexLock lock(mutex_);
    return run_counts_[random_node];
  }
  // 0 for one that never did; adds no entry.
  uint64_t times_run(const Node* random_node) {
    const MutexLock lock(mutex_);
    const auto it = run_counts_.find(random_node);
    return it == run_counts_.end() ? 0 : it->second;
  }
  uint64_t entropy() const { return entropy_; }
  void set_entropy(uint64_t entropy) { entropy_ = entropy; }
  // Frees all values.
  void clear();

 private:
  std::atomic<uint64_t> entropy_;
  Mutex mutex_;  // guards the two maps, not their contents
  std::unordered_map<const Node*, VariableSlot> variables_ SYSTOLE_GUARDED_BY(mutex_);
  std::unordered_map<const Node*, uint64_t> run_counts_ SYSTOLE_GUARDED_BY(mutex_);
};

// "Attempting to use uninitialized value w_1..."
Error uninitialized_variable(const Node& handle);

}  // namespace systole
