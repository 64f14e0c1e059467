// Work that may block, away from gRPC's threads.
#pragma once

#include <deque>
#include <functional>
#include <thread>

#include "systole/base/mutex.h"

namespace systole::worker {

// Runs tasks in order, on one thread. Thread-safe.
class TaskThread {
 public:
  TaskThread();
  ~TaskThread();  // runs those that were posted
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // Returns false, without running it, while too many wait. A task does not throw.
  bool post(std::function<void()> task);

 private:
  void run();

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> tasks_ SYSTOLE_GUARDED_BY(mutex_);
  bool ending_ SYSTOLE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// Threads that are detached, and their number. Thread-safe.
class ThreadCount {
 public:
  explicit ThreadCount(int64_t most) : most_(most) {}
  // Waits until all have ended.
  ~ThreadCount();
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

  // Runs `body`, which does not throw, on a thread. Errors: RESOURCE_EXHAUSTED if there are too
  // many, or the system has none.
  void start(std::function<void()> body);

 private:
  void ended();

  const int64_t most_;
  Mutex mutex_;
  CondVar changed_;
  int64_t count_ SYSTOLE_GUARDED_BY(mutex_) = 0;
};

}  // namespace systole::worker
