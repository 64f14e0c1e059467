// The values of variables at one point in time, for savers.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/runtime/client.h"

namespace systole {

// Shared by a snapshot and the variables whose buffers it shares. Thread-safe.
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

// The result of StepLoop::snapshot(). Its values do not change, whatever runs after it. It shares
// the session's buffers until it is destroyed, or holds copies. One thread at a time reads it. It
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
  // The value of the i-th variable; valid as long as the snapshot.
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
