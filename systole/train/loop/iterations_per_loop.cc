#include "systole/train/loop/iterations_per_loop.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "systole/base/error.h"

namespace systole {
namespace {

Error invalid(std::string_view got) {
  return invalid_argument(
      "Invalid `iterations_per_loop` value. Value must be positive integer value or "
      "time-based value `<N><s|m|h>`, where `s` is seconds, `m` is minutes, `h` is hours, got '{}'",
      got);
}

double mean_of(std::span<const double> values) {
  double total = 0;
  for (const double value : values) total += value;
  return values.empty() ? 0 : total / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return values.empty() ? 0 : std::sqrt(squares / static_cast<double>(values.size()));
}

}  // namespace

IterationsPerLoop::IterationsPerLoop(int64_t count) : count_(count) {
  if (count < 1) throw invalid(fmt::format("{}", count));
}

IterationsPerLoop::IterationsPerLoop(std::string_view text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const std::string_view unit(rest, static_cast<size_t>(end - rest));
  if (error != std::errc() || value < 1 || text.starts_with('0') || value > (int64_t{1} << 40)) {
    throw invalid(text);
  }
  if (unit.empty()) {
    count_ = value;
  } else if (unit == "s") {
    seconds_ = value;
  } else if (unit == "m") {
    seconds_ = value * 60;
  } else if (unit == "h") {
    seconds_ = value * 3600;
  } else {
    throw invalid(text);
  }
}

std::string IterationsPerLoop::to_string() const {
  return is_time() ? fmt::format("{}s", seconds_) : fmt::format("{}", count_);
}

IterationCountEstimator::IterationCountEstimator(int64_t target_seconds)
    : target_seconds_(target_seconds) {
  if (target_seconds < 1) {
    throw invalid_argument("Invalid `total_secs`. It must be positive number. Actual:{}",
                           target_seconds);
  }
}

// True if the last or the mean loop is close to the target, and steps have equal times.
bool IterationCountEstimator::settled(double loop_seconds) const {
  if (seen_ <= static_cast<int64_t>(kCapacity)) return false;
  const auto target = static_cast<double>(target_seconds_);
  const double mean = mean_of(loop_seconds_);
  const bool close =
      std::abs(loop_seconds - target) < 0.1 * target || std::abs(mean - target) < 0.05 * target;
  return close && deviation_of(step_seconds_) < 0.03;
}

void IterationCountEstimator::loop_done(int64_t steps, double seconds) {
  const size_t at = static_cast<size_t>(seen_++) % kCapacity;
  step_seconds_[at] = seconds / static_cast<double>(std::max<int64_t>(steps, 1));
  loop_seconds_[at] = seconds;
  frozen_ = frozen_ || settled(seconds);
  if (frozen_) return;
  const size_t filled = std::min(static_cast<size_t>(seen_), kCapacity);
  const double mean = mean_of(std::span(step_seconds_).first(filled));
  const double steps_that_fit = static_cast<double>(target_seconds_) / std::max(mean, 1e-9);
  next_ = std::max<int64_t>(1, static_cast<int64_t>(std::min(steps_that_fit, 1e9)));
}

}  // namespace systole
