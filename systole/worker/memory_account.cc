#include "systole/worker/memory_account.h"

#include "systole/base/error.h"

namespace systole::worker {
namespace {

// What an object takes besides its elements.
constexpr int64_t kObjectBytes = 256;

}  // namespace

Charge MemoryAccount::charge(int64_t bytes, std::string_view what) {
  if (bytes > limit_ - kObjectBytes) {
    throw make_error(Code::resource_exhausted, "worker: {}, got {} bytes, expected at most {}",
                     what, bytes, limit_ - kObjectBytes);
  }
  add(bytes + kObjectBytes, what);
  return {*this, bytes + kObjectBytes};
}

void MemoryAccount::add(int64_t bytes, std::string_view what) {
  if (total_ != nullptr) total_->add(bytes, what);
  const std::lock_guard lock(mutex_);
  if (total_ == nullptr && bytes > limit_ - in_use_) {
    throw make_error(Code::resource_exhausted,
                     "worker: {}, got {} bytes with {} in use, expected at most {} together", what,
                     bytes, in_use_, limit_);
  }
  in_use_ += bytes;
}

int64_t MemoryAccount::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

void MemoryAccount::release(int64_t bytes) {
  if (total_ != nullptr) total_->release(bytes);
  const std::lock_guard lock(mutex_);
  in_use_ -= bytes;
}

}  // namespace systole::worker
