#include "systole/data/workers.h"

#include <system_error>

#include "systole/base/error.h"
#include "systole/base/thread_name.h"

namespace systole {

Workers::Workers(Cancellation& cancellation, int count, Step step)
    : cancellation_(cancellation),
      count_(count),
      step_(std::move(step)),
      registration_(cancellation, [this] {
        const std::lock_guard lock(mutex_);
        work_.notify_all();
        done_.notify_all();
      }) {}

void Workers::start() {
  if (!threads_.empty() || stopped_) return;
  try {
    threads_.reserve(static_cast<size_t>(count_));
    while (threads_.size() < static_cast<size_t>(count_)) {
      threads_.emplace_back([this] { run(); });
    }
  } catch (const std::system_error& error) {
    if (!threads_.empty()) return;
    throw make_error(Code::resource_exhausted, "input pipeline: cannot start a thread, got '{}'",
                     error.code().message());
  }
}

bool Workers::step(Lock& lock) noexcept {
  try {
    return step_(lock);
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    failure_ = std::current_exception();
    done_.notify_all();
    return false;
  }
}

void Workers::run() {
  name_thread("input worker");
  Lock lock(mutex_);
  while (!stopped_ && failure_ == nullptr && !cancellation_.cancelled()) {
    bool worked = false;
    if (!paused_) {
      ++active_;
      worked = step(lock);
      --active_;
      if (paused_ && active_ == 0) idle_.notify_all();
    }
    if (worked) {
      done_.notify_one();
    } else if (!stopped_ && failure_ == nullptr && !cancellation_.cancelled()) {
      work_.wait(lock);
    }
  }
}

Workers::Pause::Pause(Workers& workers) : workers_(workers) {
  Lock lock(workers_.mutex_);
  workers_.paused_ = true;
  workers_.idle_.wait(lock, [&] { return workers_.active_ == 0; });
}

Workers::Pause::~Pause() {
  const Lock lock(workers_.mutex_);
  workers_.paused_ = false;
  workers_.work_.notify_all();
}

void Workers::stop() {
  {
    const Lock lock(mutex_);
    stopped_ = true;
    work_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace systole
