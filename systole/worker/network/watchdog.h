// Finds out that a server does not answer any more.
#pragma once

#include <functional>
#include <thread>

#include "systole/base/mutex.h"

namespace systole::worker {

struct WatchdogOptions {
  double every_seconds = 10;
  int tries = 3;  // that fail in a row
};

// Calls a probe now and then, on a thread of its own.
class Watchdog {
 public:
  // `probe` returns whether the server has answered, and does not block for long. `on_deaf` is
  // called once, when it has failed too often. Neither throws.
  Watchdog(const WatchdogOptions& options, std::function<bool()> probe,
           std::function<void()> on_deaf);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void run();

  const WatchdogOptions options_;
  const std::function<bool()> probe_;
  const std::function<void()> on_deaf_;
  Mutex mutex_;
  CondVar changed_;
  bool ending_ SYSTOLE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace systole::worker
