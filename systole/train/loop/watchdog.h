// Turns calls that hang into errors.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "systole/base/mutex.h"

namespace systole::train {

// What a watched thread is doing, as it reports. Thread-safe.
class Heartbeat {
 public:
  using Clock = std::chrono::steady_clock;
  enum class At : uint8_t { elsewhere, function, input, position, launch };

  // `limit`: seconds that one visit may take, unless it asks for more; 0: unlimited. `option`: the
  // name of the option that sets the limit, for error messages.
  explicit Heartbeat(double limit, std::string option = "limit")
      : limit_(limit), option_(std::move(option)) {}

  // While it exists, the thread is at `at`, with the steps after `first` up to `last`. It must end
  // within `seconds` or the limit, whichever is longer.
  class Visit {
   public:
    Visit(Heartbeat& heartbeat, At at, int64_t first, int64_t last, double seconds = 0)
        : Visit(heartbeat, at, "", first, last, seconds) {}
    // In a function of the user, which has this name in errors. Without steps: one call.
    explicit Visit(Heartbeat& heartbeat, std::string function, int64_t first = 0, int64_t last = 0)
        : Visit(heartbeat, At::function, std::move(function), first, last, 0) {}
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Visit(Heartbeat& heartbeat, At at, std::string function, int64_t first, int64_t last,
          double seconds);

    Heartbeat& heartbeat_;
  };

  // Calls run(), a launch of `steps` steps after `first`, in a Visit whose time limit follows from
  // the previous launch.
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
  // Returns the time limit of a launch, if the previous one took `step_seconds` for each step. 0:
  // there was none, and this one may have to compile.
  double launch_seconds(int64_t steps, double step_seconds) const;

 private:
  friend class WatchedThread;

  std::string overdue_message() const SYSTOLE_REQUIRES(mutex_);
  // Waits until `ended`, which the lock guards. Throws when a visit takes too long.
  void wait_for_end_or_hang(MutexLock& lock, const bool& ended) SYSTOLE_REQUIRES(mutex_);

  const double limit_;
  const std::string option_;
  double step_seconds_ = 0;  // of the last launch; 0: none. Used by the launching thread only
  Mutex mutex_;
  CondVar changed_;
  // Guarded by mutex_:
  At at_ SYSTOLE_GUARDED_BY(mutex_) = At::elsewhere;
  std::string function_ SYSTOLE_GUARDED_BY(mutex_);  // at At::function
  int64_t first_ SYSTOLE_GUARDED_BY(mutex_) = 0;
  int64_t last_ SYSTOLE_GUARDED_BY(mutex_) = 0;
  Clock::time_point since_ SYSTOLE_GUARDED_BY(mutex_);
  double allowed_ SYSTOLE_GUARDED_BY(mutex_) = 0;  // seconds
  bool abandoned_ SYSTOLE_GUARDED_BY(mutex_) = false;
};

// Runs calls that may hang, one at a time, on another thread, which the first call starts. Not
// thread-safe.
class WatchedThread {
 public:
  // The limit of a Heartbeat, and its name. 0: calls run on the caller's thread.
  WatchedThread(double limit, std::string option) : limit_(limit), option_(std::move(option)) {}
  // REQUIRES: not called on the watched thread.
  ~WatchedThread();
  WatchedThread(const WatchedThread&) = delete;
  WatchedThread& operator=(const WatchedThread&) = delete;

  // Calls `body` on the thread, waits for it, and rethrows its exception. Errors: DEADLINE_EXCEEDED
  // when a visit takes too long. The thread is then abandoned: if the visit ever ends, the thread
  // sleeps forever and changes nothing. `body` must own what it uses; it is destroyed before run()
  // returns, unless it hangs.
  void run(std::function<void(Heartbeat&)> body);

 private:
  struct Shared;
  static void work(Shared& shared);

  const double limit_;
  const std::string option_;
  std::shared_ptr<Shared> shared_;  // with the thread; null: no thread
  std::thread thread_;
};

// WatchedThread::run() with a new thread.
void run_watched(double limit, std::string option, std::function<void(Heartbeat&)> body);

}  // namespace systole::train
