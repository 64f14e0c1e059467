// Counts the bytes that sessions hold, against the worker's limit.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>

namespace systole::worker {

class Charge;

// Thread-safe. Outlives its charges.
class MemoryAccount {
 public:
  // What is counted here is counted by `total`, too.
  explicit MemoryAccount(int64_t limit, MemoryAccount* total = nullptr)
      : limit_(limit), total_(total) {}
  // Counts `bytes`. Errors: RESOURCE_EXHAUSTED, with `what`, beyond the limit.
  Charge charge(int64_t bytes, std::string_view what);
  int64_t in_use() const;
  int64_t limit() const { return limit_; }

 private:
  friend class Charge;
  void add(int64_t bytes, std::string_view what);
  void release(int64_t bytes);

  const int64_t limit_;
  MemoryAccount* const total_;
  mutable std::mutex mutex_;
  int64_t in_use_ = 0;
};

// Bytes that are counted as long as it lives.
class Charge {
 public:
  Charge() = default;
  Charge(Charge&& other) noexcept
      : account_(std::exchange(other.account_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Charge& operator=(Charge&& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Charge() {
    if (account_ != nullptr) account_->release(bytes_);
  }
  int64_t bytes() const { return bytes_; }

 private:
  friend class MemoryAccount;
  Charge(MemoryAccount& account, int64_t bytes) : account_(&account), bytes_(bytes) {}

  MemoryAccount* account_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace systole::worker
