#include "systole/worker/compile_service.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/mutex.h"
#include "systole/base/thread_name.h"

namespace systole::worker {
namespace {

constexpr size_t kMaxLate = 2;
// A clock counts nanoseconds in 64 bits.
constexpr double kLongestSeconds = 1e8;

}  // namespace

struct CompileService::Task {
  std::promise<std::unique_ptr<runtime::Executable>> result;
  std::atomic<bool> ended = false;
};

CompileService::~CompileService() {
  for (auto& [thread, task] : late_) thread.join();
}

std::unique_ptr<runtime::Executable> CompileService::run(Work work) {
  {
    const MutexLock lock(mutex_);
    std::erase_if(late_, [](auto& late) {
      if (!late.second->ended) return false;
      late.first.join();
      return true;
    });
    if (late_.size() >= kMaxLate) {
      throw make_error(Code::resource_exhausted,
                       "worker: compilations beyond {} s that still run, got {}", max_seconds_,
                       late_.size());
    }
  }
  const auto task = std::make_shared<Task>();
  auto result = task->result.get_future();
  std::thread thread([task, work = std::move(work)] {
    name_thread("compiler");
    try {
      task->result.set_value(work());
    } catch (...) {
      task->result.set_exception(std::current_exception());
    }
    task->ended = true;
  });
  const auto limit = std::chrono::duration<double>(std::min(max_seconds_, kLongestSeconds));
  if (result.wait_for(limit) == std::future_status::timeout) {
    const MutexLock lock(mutex_);
    late_.emplace_back(std::move(thread), task);
    throw make_error(Code::resource_exhausted, "worker: compilation, got more than {} s",
                     max_seconds_);
  }
  thread.join();
  return result.get();
}

}  // namespace systole::worker
