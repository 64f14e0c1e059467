#include "systole/estimator/watchdog.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "systole/base/error.h"

namespace systole::estimator {
namespace {

// What is longer than a clock can count is 30 years.
std::chrono::steady_clock::duration in_seconds(double seconds) {
  constexpr double kMost = 1e9;
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(std::min(seconds, kMost)));
}

}  // namespace

Pulse::Visit::Visit(Pulse& pulse, At at, int64_t first, int64_t last, double seconds)
    : pulse_(pulse) {
  if (pulse.limit_ <= 0) return;
  const std::lock_guard lock(pulse.mutex_);
  pulse.at_ = at;
  pulse.first_ = first;
  pulse.last_ = last;
  pulse.since_ = Clock::now();
  pulse.allowed_ = std::max(seconds, pulse.limit_);
}

Pulse::Visit::~Visit() {
  if (pulse_.limit_ <= 0) return;
  std::unique_lock lock(pulse_.mutex_);
  // Nobody waits for this thread any more, and what it would go on with may be gone.
  while (pulse_.abandoned_) pulse_.changed_.wait(lock);
  pulse_.at_ = At::elsewhere;
}

double Pulse::launch_seconds(int64_t steps, double step_seconds) const {
  constexpr double kSlower = 10;
  const auto count = static_cast<double>(steps);
  return step_seconds == 0 ? limit_ * count : limit_ + kSlower * step_seconds * count;
}

// REQUIRES: the lock.
std::string Pulse::overdue_message() const {
  const double seconds = std::chrono::duration<double>(Clock::now() - since_).count();
  const std::string steps = fmt::format("steps {} to {}", first_ + 1, last_);
  std::string what;
  switch (at_) {
    case At::input:
      what = fmt::format("input: batches for {}, got none", steps);
      break;
    case At::position:
      what = fmt::format("input: its position behind step {}, got none", last_);
      break;
    case At::host_call:
      what = fmt::format("host_call: {}, got no end of its function", steps);
      break;
    default:
      what = fmt::format("device: {}, got no end of their launch on any replica", steps);
  }
  return fmt::format(
      "{} in {:.3g} s, expected it in {:.3g} s (TPUConfig.hang_timeout_secs = {:.6g}); the thread "
      "that hangs is left behind until this process ends",
      what, seconds, allowed_, limit_);
}

void Pulse::wait_for_end_or_hang() {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    // Whoever begins meanwhile has as long at least.
    const bool visits = at_ != At::elsewhere;
    const auto until = visits ? since_ + in_seconds(allowed_) : Clock::now() + in_seconds(limit_);
    changed_.wait_until(lock, until, [this] { return ended_; });
    if (ended_ || at_ == At::elsewhere || Clock::now() < since_ + in_seconds(allowed_)) continue;
    abandoned_ = true;
    throw make_error(Code::deadline_exceeded, "{}", overdue_message());
  }
}

void run_watched(double limit, std::function<void(Pulse&)> body) {
  const auto pulse = std::make_shared<Pulse>(limit);
  if (limit <= 0) return body(*pulse);
  const auto failure = std::make_shared<std::exception_ptr>();
  std::thread thread([pulse, failure, body = std::move(body)]() mutable {
    try {
      body(*pulse);
    } catch (...) {
      *failure = std::current_exception();
    }
    body = nullptr;
    const std::lock_guard lock(pulse->mutex_);
    pulse->ended_ = true;
    pulse->changed_.notify_all();
  });
  try {
    pulse->wait_for_end_or_hang();
  } catch (...) {
    thread.detach();
    throw;
  }
  thread.join();
  if (*failure != nullptr) std::rethrow_exception(*failure);
}

}  // namespace systole::estimator
