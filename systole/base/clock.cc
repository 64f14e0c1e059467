#include "systole/base/clock.h"

#include <algorithm>
#include <thread>

#include "systole/base/mutex.h"

namespace systole {
namespace {

class RealClock final : public Clock {
 public:
  std::chrono::system_clock::time_point now() override { return std::chrono::system_clock::now(); }
  std::chrono::steady_clock::time_point steady_now() override {
    return std::chrono::steady_clock::now();
  }
  void sleep(std::chrono::nanoseconds duration) override {
    if (duration.count() > 0) std::this_thread::sleep_for(duration);
  }
};

}  // namespace

int64_t steady_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

Clock& real_clock() {
  static RealClock clock;
  return clock;
}

std::chrono::system_clock::time_point FakeClock::now() {
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(elapsed()));
}

std::chrono::steady_clock::time_point FakeClock::steady_now() {
  return std::chrono::steady_clock::time_point(elapsed());
}

void FakeClock::sleep(std::chrono::nanoseconds duration) {
  advance(std::max(duration, std::chrono::nanoseconds(0)));
}

void FakeClock::advance(std::chrono::nanoseconds duration) {
  const MutexLock lock(mutex_);
  elapsed_ += duration;
}

std::chrono::nanoseconds FakeClock::elapsed() {
  const MutexLock lock(mutex_);
  return elapsed_;
}

}  // namespace systole
