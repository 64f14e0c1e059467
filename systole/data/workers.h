// The threads of a parallel stage.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "systole/data/cancellation.h"

namespace systole {

// Threads that repeat a step on state that they share with a stage under one mutex. start() starts
// them, they sleep while there is no work, and stop() joins them. The destructor of the stage must
// call stop() before it destroys what they use.
class Workers {
 public:
  using Lock = std::unique_lock<std::mutex>;
  // Does one piece of work. Called with the lock held; releases it during long work and holds it on
  // return. Returns false if there was nothing to do. What it throws (it handles errors of elements
  // itself, so: a lack of memory) ends the threads, and wait() throws it from then on.
  using Step = std::function<bool(Lock&)>;

  Workers(Cancellation& cancellation, int count, Step step);
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int count() const { return count_; }
  Lock lock() { return Lock(mutex_); }
  // Starts the threads if they are not running: as many as the system allows. REQUIRES: the lock.
  // Errors: RESOURCE_EXHAUSTED if it allows none.
  void start();
  // Wakes the sleeping threads. REQUIRES: the lock.
  void wake() { work_.notify_all(); }
  void wake_one() { work_.notify_one(); }

  // Waits until `ready()` returns true. Checks it after each step. Errors: CANCELLED; what a step
  // threw.
  template <class Ready>
  void wait(Lock& lock, Ready&& ready) {
    while (!ready()) {
      cancellation_.check();
      if (failure_ != nullptr) std::rethrow_exception(failure_);
      done_.wait(lock);
    }
  }

  // Keeps all threads outside of steps while it lives, so that the shared state can be used without
  // the lock. (Holding the lock instead would block cancel(), and with it all threads that make
  // stages.)
  class Pause {
   public:
    explicit Pause(Workers& workers);
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Workers& workers_;
  };

  // Joins the threads. No step starts afterwards.
  void stop();

 private:
  void run();
  bool step(Lock& lock) noexcept;

  Cancellation& cancellation_;
  const int count_;
  const Step step_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::condition_variable idle_;
  int active_ = 0;  // threads inside a step
  bool paused_ = false;
  bool stopped_ = false;
  std::exception_ptr failure_;  // of a step
  std::vector<std::thread> threads_;
  Cancellation::Registration registration_;
};

}  // namespace systole
