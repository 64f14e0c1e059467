#include "systole/runtime/ordered_work.h"

#include <algorithm>
#include <utility>

#include "systole/base/mutex.h"
#include "systole/base/thread_name.h"

namespace systole::runtime {

OrderedWork::~OrderedWork() {
  {
    const MutexLock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void OrderedWork::add(const void* key, std::function<void()> work) {
  Item item{.key = key, .work = std::move(work), .environment = {}};
  std::fegetenv(&item.environment);
  const MutexLock lock(mutex_);
  // First what may fail: an item without a thread would wait for ever.
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  waiting_.push_back(std::move(item));
  changed_.notify_all();
}

void OrderedWork::finish(const void* key) {
  MutexLock lock(mutex_);
  changed_.wait(lock, [&]() SYSTOLE_REQUIRES(mutex_) {
    return std::ranges::find(waiting_, key, &Item::key) == waiting_.end();
  });
  const auto outcome = done_.extract(key);
  if (!outcome.empty() && outcome.mapped()) throw Error(*outcome.mapped());
}

void OrderedWork::wait_for_all() {
  MutexLock lock(mutex_);
  changed_.wait(lock, [&]() SYSTOLE_REQUIRES(mutex_) { return waiting_.empty(); });
}

void OrderedWork::drop_all() {
  MutexLock lock(mutex_);
  changed_.wait(lock, [&]() SYSTOLE_REQUIRES(mutex_) { return waiting_.empty(); });
  done_.clear();
}

void OrderedWork::run() {
  name_thread("processes");
  MutexLock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&]() SYSTOLE_REQUIRES(mutex_) { return ends_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const Item item = waiting_.front();
    Outcome outcome;
    lock.unlock();
    std::fesetenv(&item.environment);
    try {
      item.work();
    } catch (const Error& error) {
      outcome = error;
    } catch (const std::exception& error) {
      outcome = internal_error("work of a process group: {}", error.what());
    } catch (...) {
      outcome = internal_error("work of a process group: an unknown exception");
    }
    lock.lock();
    waiting_.pop_front();
    done_[item.key] = std::move(outcome);
    changed_.notify_all();
  }
}

}  // namespace systole::runtime
