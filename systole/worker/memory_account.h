// Counts the bytes that sessions hold, against the worker's limit.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace systole::worker {

class Charge;

// A number of bytes. Plain data, which may lie in memory that processes share.
using ByteCounter = std::atomic<int64_t>;

// What one session holds in this process. Thread-safe. Lives as long as its charges.
class MemoryAccount : public std::enable_shared_from_this<MemoryAccount> {
 public:
  // What is counted here is counted by `total`, too, which never passes `limit`.
  static std::shared_ptr<MemoryAccount> make(int64_t limit, std::shared_ptr<ByteCounter> total,
                                             std::shared_ptr<ByteCounter> own);
  // An account of a session of the same worker: counted by the same total, with its own count.
  std::shared_ptr<MemoryAccount> for_session() const {
    return make(limit_, total_, std::make_shared<ByteCounter>(0));
  }
  // Counts `bytes`. Errors: RESOURCE_EXHAUSTED, with `what`, beyond the limit.
  Charge charge(int64_t bytes, std::string_view what);
  // Counts bytes here that another process gave up with Charge::give_up().
  Charge take_over(int64_t bytes);
  int64_t in_use() const { return *own_; }
  int64_t limit() const { return limit_; }

 private:
  friend class Charge;
  MemoryAccount(int64_t limit, std::shared_ptr<ByteCounter> total, std::shared_ptr<ByteCounter> own)
      : limit_(limit), total_(std::move(total)), own_(std::move(own)) {}

  const int64_t limit_;
  const std::shared_ptr<ByteCounter> total_;
  const std::shared_ptr<ByteCounter> own_;
};

// Bytes that are counted as long as it lives. It holds the account.
class Charge {
 public:
  Charge() = default;
  Charge(Charge&& other) noexcept
      : account_(std::move(other.account_)), bytes_(std::exchange(other.bytes_, 0)) {}
  Charge& operator=(Charge&& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Charge();
  int64_t bytes() const { return bytes_; }
  // The bytes go on to count in total, for the process that takes them over. Returns them.
  int64_t give_up();

 private:
  friend class MemoryAccount;
  Charge(std::shared_ptr<MemoryAccount> account, int64_t bytes)
      : account_(std::move(account)), bytes_(bytes) {}

  std::shared_ptr<MemoryAccount> account_;
  int64_t bytes_ = 0;
};

}  // namespace systole::worker
