#include "systole/worker/calls/task_thread.h"

#include <system_error>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/mutex.h"

namespace systole::worker {
namespace {

constexpr size_t kMaxTasks = 64;

}  // namespace

TaskThread::TaskThread() : thread_([this] { run(); }) {}

TaskThread::~TaskThread() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool TaskThread::post(std::function<void()> task) {
  {
    const MutexLock lock(mutex_);
    if (tasks_.size() >= kMaxTasks) return false;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
  return true;
}

void TaskThread::run() {
  while (true) {
    std::function<void()> task;
    {
      MutexLock lock(mutex_);
      changed_.wait(lock, [this]() SYSTOLE_REQUIRES(mutex_) { return ending_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

ThreadCount::~ThreadCount() {
  MutexLock lock(mutex_);
  changed_.wait(lock, [this]() SYSTOLE_REQUIRES(mutex_) { return count_ == 0; });
}

void ThreadCount::start(std::function<void()> body) {
  {
    const MutexLock lock(mutex_);
    if (count_ >= most_) {
      throw make_error(Code::resource_exhausted, "worker: streams, got more than {} at a time",
                       most_);
    }
    ++count_;
  }
  try {
    std::thread([this, body = std::move(body)] {
      body();
      ended();
    }).detach();
  } catch (const std::system_error& error) {
    ended();
    throw make_error(Code::resource_exhausted, "worker: thread, got none: {}", error.what());
  } catch (...) {
    ended();
    throw;
  }
}

void ThreadCount::ended() {
  const MutexLock lock(mutex_);
  --count_;
  changed_.notify_all();
}

}  // namespace systole::worker
