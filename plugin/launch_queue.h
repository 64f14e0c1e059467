// Work that runs after the calls that start it, and what a forked process must not do.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>

#include "systole/base/mutex.h"

namespace systole::plugin {

// Errors: FAILED_PRECONDITION in a process that was forked from one that had made a client: threads
// do not survive a fork. The first call is that of the process that makes the client. Thread-safe.
void check_not_forked();

// Runs work in order on a thread of its own, which the first work starts. The process does not exit
// before all work has ended. Thread-safe.
class LaunchQueue {
 public:
  LaunchQueue();
  ~LaunchQueue();  // waits for all work
  LaunchQueue(const LaunchQueue&) = delete;
  LaunchQueue& operator=(const LaunchQueue&) = delete;

  // `work` does not throw. Errors: those of starting a thread.
  void add(std::function<void()> work);
  // Whether all work has ended.
  bool idle() const { return unfinished_.load(std::memory_order_acquire) == 0; }
  // Whether the caller is work of this queue.
  bool is_this_thread() const { return thread_id_.load() == std::this_thread::get_id(); }
  // Waits until all work has ended. REQUIRES: !is_this_thread().
  void wait_for_all();

 private:
  void run();

  systole::Mutex mutex_;
  systole::CondVar changed_;
  std::deque<std::function<void()>> waiting_ SYSTOLE_GUARDED_BY(mutex_);
  bool ends_ SYSTOLE_GUARDED_BY(mutex_) = false;
  std::atomic<int64_t> unfinished_ = 0;
  std::atomic<std::thread::id> thread_id_;
  std::thread thread_;
};

}  // namespace systole::plugin
