// Time. Code takes a Clock& from its caller, so that tests can control it.
#pragma once

#include <chrono>
#include <cstdint>

#include "systole/base/mutex.h"

namespace systole {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // The time of day, for files. It may jump.
  virtual std::chrono::system_clock::time_point now() = 0;
  // A steady clock, for durations.
  virtual std::chrono::steady_clock::time_point steady_now() = 0;
  // Returns at once if `duration` is not positive.
  virtual void sleep(std::chrono::nanoseconds duration) = 0;
};

// Returns the nanoseconds of this machine's steady clock since an arbitrary start.
int64_t steady_ns();

// The clock of this machine. It lives until the process ends.
Clock& real_clock();

// A clock that only advance() and sleep() move; sleep() returns at once. It starts at the Unix
// epoch.
class FakeClock final : public Clock {
 public:
  std::chrono::system_clock::time_point now() override;
  std::chrono::steady_clock::time_point steady_now() override;
  void sleep(std::chrono::nanoseconds duration) override;

  void advance(std::chrono::nanoseconds duration);
  // Time slept and advanced since the start.
  std::chrono::nanoseconds elapsed();

 private:
  Mutex mutex_;
  std::chrono::nanoseconds elapsed_ SYSTOLE_GUARDED_BY(mutex_){0};
};

}  // namespace systole
