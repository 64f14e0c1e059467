#include "systole/train/loop/capture_hook.h"

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/profile/writer.h"

namespace systole {

CaptureHook::CaptureHook(ProfileOptions options) : options_(std::move(options)) {
  if (options_.start < 0) {
    throw invalid_argument("profile: start, got {}, expected steps, or 0", options_.start);
  }
  if (options_.steps < 1) {
    throw invalid_argument("profile: steps, got {}, expected at least 1", options_.steps);
  }
}

CaptureHook::~CaptureHook() = default;

void CaptureHook::after_create_session(Session& session) {
  static_cast<void>(session);
  state_ = State::new_training;
}

int64_t CaptureHook::steps_to_next_run(int64_t global_step) const {
  switch (state_) {
    case State::new_training:
      return std::max<int64_t>(options_.start, 1);
    case State::waits:
      return std::max<int64_t>(first_ - global_step, 1);
    case State::captures:
      return std::max<int64_t>(last_ - global_step, 1);
    case State::done:
      break;
  }
  return INT64_MAX;
}

void CaptureHook::before_run(RunContext& context) {
  const int64_t step = context.global_step();
  if (state_ == State::new_training) {
    first_ = step + options_.start;
    state_ = State::waits;
  }
  if (state_ != State::waits || step < first_) return;
  last_ = step + options_.steps;
  try {
    capture_ = std::make_unique<profile::Capture>(options_.output_dir, options_.file_system);
    state_ = State::captures;
  } catch (const Error& error) {
    log_warning("{}", error.message());
    state_ = State::done;
  }
}

void CaptureHook::after_run(RunContext& context, std::span<const Tensor>) {
  if (state_ == State::captures && context.global_step() >= last_) finish();
}

void CaptureHook::end(Session&) { finish(); }

void CaptureHook::finish() {
  if (const auto capture = std::exchange(capture_, nullptr)) capture->finish();
  state_ = State::done;
}

}  // namespace systole
