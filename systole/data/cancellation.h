// Ends the waiting of all stages of an iterator at once.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>

namespace systole {

// Thread-safe. cancel() is final.
class Cancellation {
 public:
  void cancel();
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  // Errors: CANCELLED when cancelled.
  void check() const;

  // Calls `wake` when cancelled (at once when that has happened already), until it is destroyed.
  class Registration {
   public:
    Registration(Cancellation& cancellation, std::function<void()> wake);
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    Cancellation& cancellation_;
    std::list<std::function<void()>>::iterator entry_;
  };

 private:
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;  // guards wakes_
  std::list<std::function<void()>> wakes_;
};

}  // namespace systole
