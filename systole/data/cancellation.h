// Cancels an iterator: wakes all its waiting stages.
#pragma once

#include <atomic>
#include <functional>
#include <list>

#include "systole/base/mutex.h"

namespace systole {

// Thread-safe. cancel() cannot be undone.
class Cancellation {
 public:
  void cancel();
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  // Errors: CANCELLED after cancel().
  void check() const;

  // Calls `wake` on cancel(), or at once if it was called before. Ends with its destruction.
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
  Mutex mutex_;  // guards wakes_
  std::list<std::function<void()>> wakes_ SYSTOLE_GUARDED_BY(mutex_);
};

}  // namespace systole
