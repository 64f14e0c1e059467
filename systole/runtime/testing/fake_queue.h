// The work of a FakeClient.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

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

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<std::function<void()>> ready_;
  int64_t waiting_ = 0;  // for their events
  bool held_ = false;
  bool closing_ = false;
  std::minstd_rand random_;
  int64_t max_delay_us_;
  std::vector<std::thread> threads_;
};

}  // namespace systole::runtime::testing
