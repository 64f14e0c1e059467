// Compiles for all sessions, in bounded time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/runtime/client.h"

namespace systole::worker {

// Thread-safe.
class CompileService {
 public:
  using Work = std::function<std::unique_ptr<runtime::Executable>()>;

  explicit CompileService(double max_seconds) : max_seconds_(max_seconds) {}
  ~CompileService();  // waits for work that took too long
  CompileService(const CompileService&) = delete;
  CompileService& operator=(const CompileService&) = delete;

  // Runs `work`. Errors: its own, of any type; RESOURCE_EXHAUSTED if it takes too long, or while
  // work of two earlier calls that took too long is still running. Work that other threads have
  // under way at that time may take too long as well.
  std::unique_ptr<runtime::Executable> run(Work work);

 private:
  struct Task;
  const double max_seconds_;
  Mutex mutex_;
  std::vector<std::pair<std::thread, std::shared_ptr<Task>>> late_ SYSTOLE_GUARDED_BY(mutex_);
};

}  // namespace systole::worker
