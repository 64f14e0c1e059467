// The threads of a parallel stage.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "systole/data/cancellation.h"

namespace systole {

// Threads that do one step after another on what a stage shares with them under one mutex. They are
// started by the first start(), sleep when there is nothing to do, and are joined by stop(), which
// the stage's destructor calls before what they use goes away.
class Workers {
 public:
  using Lock = std::unique_lock<std::mutex>;
  // Does one piece of work. Called with the lock held; releases it for what takes long, and holds
  // it on return. Returns false when there was nothing to do. Must not throw.
  using Step = std::function<bool(Lock&)>;

  Workers(Cancellation& cancellation, int count, Step step);
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int count() const { return count_; }
  Lock lock() { return Lock(mutex_); }
  // Starts the threads unless they run. REQUIRES: the lock.
  void start();
  // Tells sleeping threads that there may be work again. REQUIRES: the lock.
  void wake() { work_.notify_all(); }
  void wake_one() { work_.notify_one(); }

  // Waits until `ready()`, looked at after every step. Errors: CANCELLED.
  template <class Ready>
  void wait(Lock& lock, Ready&& ready) {
    while (!ready()) {
      cancellation_.check();
      done_.wait(lock);
    }
  }

  // While it lives no thread is inside a step, and its maker has what is shared with them without
  // the lock. To hold that would keep cancel() waiting, and with it all threads that make stages.
  class Pause {
   public:
    explicit Pause(Workers& workers);
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Workers& workers_;
  };

  // Joins: no step begins any more.
  void stop();

 private:
  void run();

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
  std::vector<std::thread> threads_;
  Cancellation::Registration registration_;
};

}  // namespace systole
