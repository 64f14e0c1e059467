#include "systole/worker/recorder.h"

#include <utility>

#include "systole/base/error.h"
#include "systole/base/mutex.h"
#include "systole/tracing/recorder.h"

namespace systole::worker {

std::unique_ptr<Recorder::Active> Recorder::begin(Options options) {
  const MutexLock lock(mutex_);
  if (state_) {
    throw failed_precondition(
        "worker: recording, got a second one, expected none while that of {} is in progress",
        state_->options.client);
  }
  if (!tracing::start({.events_per_thread = options.events_per_thread, .workers = false})) {
    throw failed_precondition(
        "worker: recording, got one while the worker's process makes another, expected none");
  }
  const auto now = Clock::now();
  const auto length = std::chrono::duration<double>(options.seconds);
  state_ = {.options = std::move(options),
            .until = now + std::chrono::duration_cast<Clock::duration>(length),
            .last_heard = now};
  return std::make_unique<Active>(*this);
}

void Recorder::check(Clock::time_point now, Clock::duration stall) {
  const MutexLock lock(mutex_);
  if (!state_) return;
  if (!state_->recorded && now > state_->until) state_->recorded = stop(*state_);
  if (now - state_->last_heard > stall) state_->options.cancel();
}

Recorder::Recorded Recorder::stop(State& state) {
  Recorded recorded = {.own = tracing::stop(), .parts = std::move(state.parts)};
  if (!state.options.collect) return recorded;
  for (RecordingPart& part : state.options.collect()) recorded.parts.push_back(std::move(part));
  return recorded;
}

int64_t Recorder::events_per_thread() const {
  const MutexLock lock(mutex_);
  return state_ && !state_->recorded ? state_->options.events_per_thread : 0;
}

void Recorder::add(RecordingPart part) {
  const MutexLock lock(mutex_);
  if (state_ && !state_->recorded) state_->parts.push_back(std::move(part));
}

Recorder::Active::~Active() {
  if (!ended_) end();
}

void Recorder::Active::heard() {
  const MutexLock lock(recorder_.mutex_);
  recorder_.state_->last_heard = Clock::now();
}

bool Recorder::Active::over() const {
  const MutexLock lock(recorder_.mutex_);
  return recorder_.state_->recorded.has_value();
}

Recorder::Recorded Recorder::Active::end() {
  const MutexLock lock(recorder_.mutex_);
  ended_ = true;
  std::optional<State> state = std::exchange(recorder_.state_, std::nullopt);
  return state->recorded ? std::move(*state->recorded) : stop(*state);
}

}  // namespace systole::worker
