#include "systole/train/loop/watchdog.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/mutex.h"
#include "systole/base/thread_name.h"

namespace systole::train {
namespace {

// Limits the time to 30 years, which the clock can represent.
std::chrono::steady_clock::duration in_seconds(double seconds) {
  constexpr double kMax = 1e9;
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(std::min(seconds, kMax)));
}

}  // namespace

Heartbeat::Visit::Visit(Heartbeat& heartbeat, At at, std::string function, int64_t first,
                        int64_t last, double seconds)
    : heartbeat_(heartbeat) {
  if (heartbeat.limit_ <= 0) return;
  const MutexLock lock(heartbeat.mutex_);
  heartbeat.at_ = at;
  heartbeat.function_ = std::move(function);
  heartbeat.first_ = first;
  heartbeat.last_ = last;
  heartbeat.since_ = Clock::now();
  heartbeat.allowed_ = std::max(seconds, heartbeat.limit_);
}

Heartbeat::Visit::~Visit() {
  if (heartbeat_.limit_ <= 0) return;
  MutexLock lock(heartbeat_.mutex_);
  // An abandoned thread must not continue: its data may be gone.
  while (heartbeat_.abandoned_) heartbeat_.changed_.wait(lock);
  heartbeat_.at_ = At::elsewhere;
}

double Heartbeat::launch_seconds(int64_t steps, double step_seconds) const {
  constexpr double kSlower = 10;
  const auto count = static_cast<double>(steps);
  return step_seconds == 0 ? limit_ * count : limit_ + kSlower * step_seconds * count;
}

// REQUIRES: the lock.
std::string Heartbeat::overdue_message() const {
  const double seconds = std::chrono::duration<double>(Clock::now() - since_).count();
  const std::string steps = fmt::format("steps {} to {}", first_ + 1, last_);
  std::string what;
  switch (at_) {
    case At::function:
      what = fmt::format("{}: {}, got no result", function_, last_ > first_ ? steps : "call");
      break;
    case At::input:
      what = fmt::format("input: batches for {}, got none", steps);
      break;
    case At::position:
      what = fmt::format("input: position after step {}, got none", last_);
      break;
    default:
      what = fmt::format("device: {}, got no result of their launch", steps);
  }
  return fmt::format(
      "{} in {:.3g} s, expected one in {:.3g} s ({} = {:.6g}); the thread that hangs is abandoned "
      "until this process ends",
      what, seconds, allowed_, option_, limit_);
}

void Heartbeat::wait_for_end_or_hang(MutexLock& lock, const bool& ended) {
  while (!ended) {
    // A visit that starts later has at least the same limit.
    const bool visits = at_ != At::elsewhere;
    const auto until = visits ? since_ + in_seconds(allowed_) : Clock::now() + in_seconds(limit_);
    changed_.wait_until(lock, until, [&]() SYSTOLE_REQUIRES(mutex_) { return ended; });
    if (ended || at_ == At::elsewhere || Clock::now() < since_ + in_seconds(allowed_)) continue;
    abandoned_ = true;
    throw make_error(Code::deadline_exceeded, "{}", overdue_message());
  }
}

struct WatchedThread::Shared {
  Shared(double limit, std::string option) : heartbeat(limit, std::move(option)) {}

  Heartbeat heartbeat;
  // Guarded by heartbeat.mutex_. Notify heartbeat.changed_ after each change.
  std::function<void(Heartbeat&)> body;  // empty between two calls
  std::exception_ptr failure;
  bool ended = false;
  bool stops = false;
};

void WatchedThread::work(Shared& shared) {
  MutexLock lock(shared.heartbeat.mutex_);
  while (true) {
    shared.heartbeat.changed_.wait(lock, [&] { return shared.stops || shared.body; });
    if (shared.stops) return;
    std::function<void(Heartbeat&)> body = std::exchange(shared.body, nullptr);
    lock.unlock();
    std::exception_ptr failure;
    try {
      body(shared.heartbeat);
    } catch (...) {
      failure = std::current_exception();
    }
    body = nullptr;
    lock.lock();
    shared.failure = std::exchange(failure, nullptr);
    shared.ended = true;
    shared.heartbeat.changed_.notify_all();
  }
}

WatchedThread::~WatchedThread() {
  if (shared_ == nullptr) return;
  {
    const MutexLock lock(shared_->heartbeat.mutex_);
    shared_->stops = true;
    shared_->heartbeat.changed_.notify_all();
  }
  thread_.join();
}

void WatchedThread::run(std::function<void(Heartbeat&)> body) {
  if (limit_ <= 0) {
    Heartbeat heartbeat(limit_, option_);
    return body(heartbeat);
  }
  if (shared_ == nullptr) {
    auto shared = std::make_shared<Shared>(limit_, option_);
    thread_ = std::thread([shared] {
      name_thread("training");
      work(*shared);
    });
    shared_ = std::move(shared);
  }
  Heartbeat& heartbeat = shared_->heartbeat;
  MutexLock lock(heartbeat.mutex_);
  shared_->body = std::move(body);
  shared_->ended = false;
  heartbeat.changed_.notify_all();
  try {
    heartbeat.wait_for_end_or_hang(lock, shared_->ended);
  } catch (...) {
    lock.unlock();
    thread_.detach();
    shared_ = nullptr;
    throw;
  }
  if (const std::exception_ptr failure = std::exchange(shared_->failure, nullptr)) {
    lock.unlock();
    std::rethrow_exception(failure);
  }
}

void run_watched(double limit, std::string option, std::function<void(Heartbeat&)> body) {
  WatchedThread(limit, std::move(option)).run(std::move(body));
}

}  // namespace systole::train
