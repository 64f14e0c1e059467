#include "plugin/launch_queue.h"

#include <pthread.h>

#include <cstdlib>
#include <set>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/thread_name.h"

namespace systole::plugin {
namespace {

std::atomic<bool>& forked() {
  static std::atomic<bool> value = false;
  return value;
}

// The queues that there are. At exit their work must have ended before the objects that it uses.
class Queues {
 public:
  static Queues& all() {
    static Queues& queues = *new Queues();
    return queues;
  }
  void add(LaunchQueue* queue) {
    const systole::MutexLock lock(mutex_);
    queues_.insert(queue);
  }
  void remove(LaunchQueue* queue) {
    const systole::MutexLock lock(mutex_);
    queues_.erase(queue);
  }

 private:
  Queues() {
    std::atexit([] {
      if (!forked().load(std::memory_order_relaxed)) all().wait();
    });
  }
  void wait() {
    const systole::MutexLock lock(mutex_);
    for (LaunchQueue* queue : queues_) queue->wait_for_all();
  }

  systole::Mutex mutex_;
  std::set<LaunchQueue*> queues_ SYSTOLE_GUARDED_BY(mutex_);
};

}  // namespace

void check_not_forked() {
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forked().store(true, std::memory_order_relaxed); });
  if (!forked().load(std::memory_order_relaxed)) return;
  throw failed_precondition(
      "systole plugin: this process was forked from one that had devices, whose threads it lacks; "
      "expected a process of its own, such as by multiprocessing's method 'spawn'");
}

LaunchQueue::LaunchQueue() { Queues::all().add(this); }

LaunchQueue::~LaunchQueue() {
  if (forked().load(std::memory_order_relaxed)) {
    if (thread_.joinable()) thread_.detach();  // it is not in this process
    return;
  }
  {
    const systole::MutexLock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  Queues::all().remove(this);
}

void LaunchQueue::add(std::function<void()> work) {
  const systole::MutexLock lock(mutex_);
  // First what may fail: work without a thread would wait for ever.
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  waiting_.push_back(std::move(work));
  unfinished_.fetch_add(1, std::memory_order_release);
  changed_.notify_all();
}

void LaunchQueue::wait_for_all() {
  systole::MutexLock lock(mutex_);
  changed_.wait(lock, [&]() SYSTOLE_REQUIRES(mutex_) { return idle(); });
}

void LaunchQueue::run() {
  name_thread("launches");
  thread_id_.store(std::this_thread::get_id());
  systole::MutexLock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&]() SYSTOLE_REQUIRES(mutex_) { return ends_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    {
      const std::function<void()> work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      work();
    }  // what it holds is freed without the lock
    lock.lock();
    if (unfinished_.fetch_sub(1, std::memory_order_release) == 1) changed_.notify_all();
  }
}

}  // namespace systole::plugin
