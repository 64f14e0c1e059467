// Tells of an evaluation that does not end.
#pragma once

#include <chrono>
#include <cstdint>

#include "systole/base/clock.h"
#include "systole/base/log.h"

namespace systole::estimator {

// Warns once when an evaluation without a number of steps has run for a minute. Used by one thread.
class EndlessInputWarning {
 public:
  // `has_limit`: the evaluation ends after a number of steps. The clock outlives the object.
  explicit EndlessInputWarning(bool has_limit, Clock& clock = real_clock())
      : clock_(clock), start_(clock.steady_now()), warned_(has_limit) {}

  // Call it after each launch. `examples`: of all so far.
  void note(int64_t examples) {
    constexpr std::chrono::seconds kLong(60);
    if (warned_ || clock_.steady_now() - start_ < kLong) return;
    warned_ = true;
    log_warning(
        "evaluate: steps, got none, and {} examples so far: expected an input that ends. Remove "
        "repeat(), or give `steps`",
        examples);
  }

 private:
  Clock& clock_;
  const std::chrono::steady_clock::time_point start_;
  bool warned_;
};

}  // namespace systole::estimator
