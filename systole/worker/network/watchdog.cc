#include "systole/worker/network/watchdog.h"

#include <chrono>
#include <utility>

#include "systole/base/log.h"
#include "systole/base/mutex.h"

namespace systole::worker {

Watchdog::Watchdog(const WatchdogOptions& options, std::function<bool()> probe,
                   std::function<void()> on_deaf)
    : options_(options),
      probe_(std::move(probe)),
      on_deaf_(std::move(on_deaf)),
      thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::run() {
  const std::chrono::duration<double> every(options_.every_seconds);
  int failed = 0;
  MutexLock lock(mutex_);
  while (!changed_.wait_for(lock, every, [this]() SYSTOLE_REQUIRES(mutex_) { return ending_; })) {
    lock.unlock();
    failed = probe_() ? 0 : failed + 1;
    if (failed > 0) {
      log_warning("worker: a call to its own port, got no answer, {} of {} tries", failed,
                  options_.tries);
    }
    if (failed >= options_.tries) return on_deaf_();
    lock.lock();
  }
}

}  // namespace systole::worker
