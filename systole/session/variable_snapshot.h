// The values of variables at one time, for savers.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/runtime/client.h"

namespace systole {

// Tells whoever updates variables when a snapshot has let go of their buffers. Thread-safe.
class SnapshotHold {
 public:
  void release() { released_.store(true, std::memory_order_release); }
  bool released() const { return released_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> released_ = false;
};

// The buffer's elements, without a copy where the host can read the device's memory; valid until
// the buffer is donated. Waits for them. Errors: the buffer's error.
Tensor host_view(const runtime::Buffer& buffer);

// What StepLoop::snapshot() took: the values stay as they were then, whatever runs after it. Shares
// the buffers of the session until it is destroyed, or has copies. Read by one thread at a time;
// may outlive the session.
class VariableSnapshot {
 public:
  VariableSnapshot() = default;
  VariableSnapshot(VariableSnapshot&&) noexcept = default;
  VariableSnapshot& operator=(VariableSnapshot&&) = delete;
  ~VariableSnapshot() {
    if (hold_ != nullptr) hold_->release();
  }

  size_t size() const { return values_.size(); }
  // That of the i-th variable that was asked for; for as long as the snapshot is there.
  Tensor value(size_t i) const {
    const Value& value = values_[i];
    return value.shared != nullptr ? host_view(*value.shared) : value.copy;
  }

 private:
  friend class StepLoop;
  struct Value {
    std::shared_ptr<const runtime::Buffer> shared;
    Tensor copy;
  };
  std::vector<Value> values_;
  std::shared_ptr<SnapshotHold> hold_;
};

}  // namespace systole
