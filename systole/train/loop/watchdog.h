// An end to waiting for input and launches that hang.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace systole::train {

// What a thread that may hang does right now, as it tells itself. Thread-safe.
class Heartbeat {
 public:
  using Clock = std::chrono::steady_clock;
  enum class At : uint8_t { elsewhere, input_fn, input, position, launch, host_call };

  // `limit`: seconds that one visit may take unless it says more; 0: any time.
  explicit Heartbeat(double limit) : limit_(limit) {}

  // The thread is at `at` with the steps behind `first` up to `last`, until the object is gone,
  // which must be within `seconds`, or the limit where that is more.
  class Visit {
   public:
    Visit(Heartbeat& heartbeat, At at, int64_t first, int64_t last, double seconds = 0);
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Heartbeat& heartbeat_;
  };

  // run(), a launch of `steps` steps behind `first`, in a Visit that lasts as long as it may by how
  // long the one before took.
  template <class Run>
  auto launch(int64_t first, int64_t steps, const Run& run) {
    const Visit visit(*this, At::launch, first, first + steps,
                      launch_seconds(steps, step_seconds_));
    const Clock::time_point start = Clock::now();
    auto results = run();
    step_seconds_ =
        std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(steps);
    return results;
  }
  // How long a launch of `steps` may take when the last one took `step_seconds` a step; 0: there
  // was none, so this one compiles, and nobody knows how long a step takes.
  double launch_seconds(int64_t steps, double step_seconds) const;

 private:
  friend class WatchedThread;

  std::string overdue_message() const;
  // What is waited for: `ended`, which is guarded by the lock.
  void wait_for_end_or_hang(std::unique_lock<std::mutex>& lock, const bool& ended);

  const double limit_;
  double step_seconds_ = 0;  // of the last launch; 0: there was none. Of the thread that launches
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  At at_ = At::elsewhere;
  int64_t first_ = 0;
  int64_t last_ = 0;
  Clock::time_point since_;
  double allowed_ = 0;  // seconds
  bool abandoned_ = false;
};

// A thread for what may hang, one call after the other: it is made by the first one. Not
// thread-safe.
class WatchedThread {
 public:
  // Without a limit there is no thread: calls run on their caller's.
  explicit WatchedThread(double limit) : limit_(limit) {}
  // REQUIRES: not on the thread itself.
  ~WatchedThread();
  WatchedThread(const WatchedThread&) = delete;
  WatchedThread& operator=(const WatchedThread&) = delete;

  // Calls `body` on the thread and waits for its end; what it throws is thrown here. Errors:
  // DEADLINE_EXCEEDED when a visit takes longer than it may. The thread is left behind then: should
  // the visit ever end, it sleeps from there on, so that it changes nothing any more. What `body`
  // uses must not be the caller's; it is destroyed before run() returns, unless it hangs.
  void run(std::function<void(Heartbeat&)> body);

 private:
  struct Shared;
  static void work(Shared& shared);

  const double limit_;
  std::shared_ptr<Shared> shared_;  // with the thread; null: there is none
  std::thread thread_;
};

// WatchedThread::run() on a thread for this one call.
void run_watched(double limit, std::function<void(Heartbeat&)> body);

}  // namespace systole::train
