// The work of a FakeClient.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/runtime/event.h"

namespace systole::runtime::testing {

// Runs tasks on its own threads: each some time after the event that it waits for, in any order.
class FakeQueue {
 public:
  FakeQueue(int64_t max_delay_us, uint64_t seed);
  ~FakeQueue();  // runs what is left

  // `task` gets the error of `after`, null for success.
  void add(const Event& after, std::function<void(const Error*)> task);
  void set_held(bool held);

 private:
  void work();
  void enqueue(std::function<void()> task);

  Mutex mutex_;
  CondVar changed_;
  std::vector<std::function<void()>> ready_ SYSTOLE_GUARDED_BY(mutex_);
  int64_t waiting_ SYSTOLE_GUARDED_BY(mutex_) = 0;  // for their events
  bool held_ SYSTOLE_GUARDED_BY(mutex_) = false;
  bool closing_ SYSTOLE_GUARDED_BY(mutex_) = false;
  std::minstd_rand random_ SYSTOLE_GUARDED_BY(mutex_);
  int64_t max_delay_us_ SYSTOLE_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ SYSTOLE_GUARDED_BY(mutex_);
};

}  // namespace systole::runtime::testing
