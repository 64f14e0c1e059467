#include "systole/worker/memory_account.h"

#include "systole/base/error.h"

namespace systole::worker {
namespace {

// What an object takes besides its elements.
constexpr int64_t kObjectBytes = 256;

}  // namespace

std::shared_ptr<MemoryAccount> MemoryAccount::make(int64_t limit,
                                                   std::shared_ptr<ByteCounter> total,
                                                   std::shared_ptr<ByteCounter> own) {
  return std::shared_ptr<MemoryAccount>(new MemoryAccount(limit, std::move(total), std::move(own)));
}

Charge MemoryAccount::charge(int64_t bytes, std::string_view what) {
  if (bytes > limit_ - kObjectBytes) {
    throw make_error(Code::resource_exhausted, "worker: {}, got {} bytes, expected at most {}",
                     what, bytes, limit_ - kObjectBytes);
  }
  const int64_t added = bytes + kObjectBytes;
  const int64_t before = total_->fetch_add(added);
  if (before > limit_ - added) {
    *total_ -= added;
    throw make_error(Code::resource_exhausted,
                     "worker: {}, got {} bytes with {} in use, expected at most {} together", what,
                     bytes, before, limit_);
  }
  *own_ += added;
  return {shared_from_this(), added};
}

Charge MemoryAccount::take_over(int64_t bytes) {
  *own_ += bytes;
  return {shared_from_this(), bytes};
}

Charge::~Charge() {
  if (bytes_ == 0) return;
  *account_->own_ -= bytes_;
  *account_->total_ -= bytes_;
}

int64_t Charge::give_up() {
  if (bytes_ != 0) *account_->own_ -= bytes_;
  return std::exchange(bytes_, 0);
}

}  // namespace systole::worker
