#include "systole/runtime/testing/fake_queue.h"

#include <chrono>
#include <utility>

#include "systole/base/mutex.h"

namespace systole::runtime::testing {
namespace {

constexpr int kThreads = 3;

}  // namespace

FakeQueue::FakeQueue(int64_t max_delay_us, uint64_t seed)
    : random_(static_cast<uint32_t>(seed)), max_delay_us_(max_delay_us) {
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { work(); });
}

FakeQueue::~FakeQueue() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    held_ = false;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void FakeQueue::add(const Event& after, std::function<void(const Error*)> task) {
  {
    const MutexLock lock(mutex_);
    ++waiting_;
  }
  after.then([this, task = std::move(task)](const Error* error) {
    const Event outcome = error == nullptr ? Event() : Event::failed(*error);
    enqueue([task, outcome] { task(outcome.error()); });
  });
}

void FakeQueue::enqueue(std::function<void()> task) {
  {
    const MutexLock lock(mutex_);
    --waiting_;
    ready_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void FakeQueue::set_held(bool held) {
  {
    const MutexLock lock(mutex_);
    held_ = held;
  }
  changed_.notify_all();
}

void FakeQueue::work() {
  MutexLock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this]() SYSTOLE_REQUIRES(mutex_) {
      return (!held_ && !ready_.empty()) || (closing_ && ready_.empty() && waiting_ == 0);
    });
    if (ready_.empty()) return;
    const size_t chosen = random_() % ready_.size();
    std::swap(ready_[chosen], ready_.back());
    std::function<void()> task = std::move(ready_.back());
    ready_.pop_back();
    const int64_t delay = max_delay_us_ == 0 ? 0 : static_cast<int64_t>(random_()) % max_delay_us_;
    lock.unlock();
    if (delay > 0) std::this_thread::sleep_for(std::chrono::microseconds(delay));
    task();
    task = nullptr;
    lock.lock();
    if (closing_) changed_.notify_all();
  }
}

}  // namespace systole::runtime::testing
