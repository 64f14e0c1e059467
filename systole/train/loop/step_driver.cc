#include "systole/train/loop/step_driver.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "systole/base/log.h"
#include "systole/train/loop/signals.h"

namespace systole::train {

using Wait = runtime::ProcessGroup::Wait;

StepDriver::StepDriver(StepDriverOptions options) : options_(std::move(options)) {
  if (options_.launch_seconds <= 0) pace_ = INT64_MAX;
}

bool StepDriver::has_others() const {
  return options_.processes != nullptr && options_.processes->size() > 1;
}

int64_t StepDriver::agreed(int64_t own, Wait wait) const {
  if (has_others()) options_.processes->reduce_min({&own, 1}, wait);
  return own;
}

std::array<int64_t, 2> StepDriver::agreed(std::array<int64_t, 2> own, Wait wait) const {
  if (has_others()) options_.processes->reduce_min(own, wait);
  return own;
}

// Before the first launch a process may still open its input or compile.
Wait StepDriver::patience() const { return launched_ ? Wait::step : Wait::rare; }

bool StepDriver::interrupted() const {
  if (!options_.stops_on_signals || StopSignals::received() == nullptr) return false;
  return !options_.runs_what_was_read || ahead_ == 0;
}

int64_t StepDriver::next_steps(StepListener& listener) const {
  return std::min(ahead_ > 0 ? ahead_ : pace_, listener.launch_limit(0));
}

std::optional<data::StackedSteps> StepDriver::read(int64_t first, std::array<int64_t, 2> wanted,
                                                   Heartbeat& heartbeat) {
  const auto [steps, ahead] = wanted;
  const Heartbeat::Visit visit(heartbeat, Heartbeat::At::input, first, first + steps);
  return options_.input->next(steps, ahead);
}

StepDriver::End StepDriver::drive(StepListener& listener, Heartbeat& heartbeat) {
  while (true) {
    if (!listener.goes_on()) return End::stopped;
    const int64_t own = next_steps(listener);
    const int64_t next = own > 0 ? std::min(pace_, listener.launch_limit(own)) : 0;
    const std::array<int64_t, 2> wanted = agreed({own, next});
    if (wanted[0] <= 0) return End::steps;
    ahead_ = wanted[1];
    std::optional<data::StackedSteps> batches = read(listener.position(), wanted, heartbeat);
    const int64_t count = batches ? batches->steps : 0;
    const auto [steps, quick] = agreed({count, listener.saves_after(count) ? 0 : 1});
    if (steps == 0) {
      ahead_ = 0;
      return End::input;
    }
    batches->steps = steps;
    if (!launch(listener, *batches, quick == 0, heartbeat)) return End::stopped;
  }
}

bool StepDriver::launch(StepListener& listener, const data::StackedSteps& batches, bool saves,
                        Heartbeat& heartbeat) {
  listener.before_launch(batches);
  const auto start = std::chrono::steady_clock::now();
  const std::span<const Tensor> results =
      heartbeat.launch(listener.position(), batches.steps, [&] { return options_.run(batches); });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  note_time(batches, seconds.count());
  const bool more =
      listener.after_launch({.batches = batches, .results = results, .seconds = seconds.count()});
  const bool goes_on = more && !interrupted();
  const auto [all, pace] = agreed({goes_on ? 1 : 0, pace_}, saves ? Wait::rare : patience());
  pace_ = pace;
  launched_ = true;
  return all != 0;
}

void StepDriver::note_time(const data::StackedSteps& batches, double seconds) {
  constexpr int64_t kGrowth = 8;
  if (options_.launch_seconds > 0) {
    const double fit = options_.launch_seconds / std::max(seconds, 1e-6);
    pace_ = std::clamp<int64_t>(static_cast<int64_t>(fit * static_cast<double>(batches.steps)), 1,
                                pace_ * kGrowth);
  }
  const InputWait wait{.seconds = seconds + batches.waited_seconds,
                       .waited = batches.waited_seconds};
  wait_.seconds += wait.seconds;
  wait_.waited += wait.waited;
  if (!launched_ || warned_) return;
  since_first_.seconds += wait.seconds;
  since_first_.waited += wait.waited;
  warn_of_waits();
}

void StepDriver::warn_of_waits() {
  constexpr double kTolerated = 0.1;
  constexpr double kSecondsToTell = 1;
  if (since_first_.seconds < kSecondsToTell || since_first_.share() < kTolerated) return;
  warned_ = true;
  log_warning("input: {} waits {:.0f} % of its time for it. {}", options_.work,
              100 * since_first_.share(), options_.input->advice());
}

double StepDriver::take_wait_share() { return std::exchange(wait_, {}).share(); }

}  // namespace systole::train
