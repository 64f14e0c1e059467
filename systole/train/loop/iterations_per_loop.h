// The length of a training loop: a number of steps, or as many as fit a time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace systole {

// 100, or "30s", "2m", "1h". Errors: INVALID_ARGUMENT "Invalid `iterations_per_loop` value.
// ..." unless it is a positive integer, or one with s, m or h.
class IterationsPerLoop {
 public:
  IterationsPerLoop(int64_t count);  // NOLINT(google-explicit-constructor)
  IterationsPerLoop(int count)       // NOLINT(google-explicit-constructor)
      : IterationsPerLoop(static_cast<int64_t>(count)) {}
  IterationsPerLoop(std::string_view text);  // NOLINT(google-explicit-constructor)
  IterationsPerLoop(const char* text)        // NOLINT(google-explicit-constructor)
      : IterationsPerLoop(std::string_view(text)) {}

  bool is_time() const { return seconds_ > 0; }
  int64_t count() const { return count_; }      // 0 if it is a time
  int64_t seconds() const { return seconds_; }  // 0 if it is a count
  std::string to_string() const;

 private:
  int64_t count_ = 0;
  int64_t seconds_ = 0;
};

// Estimates how many steps take a time. The first loop is one step; later loops are the time
// divided by the mean step of the last 20 loops, until the estimate has converged.
class IterationCountEstimator {
 public:
  // Errors: INVALID_ARGUMENT for a time below 1.
  explicit IterationCountEstimator(int64_t target_seconds);

  // Steps of the next loop, at least 1.
  int64_t next() const { return next_; }
  void loop_done(int64_t steps, double seconds);

 private:
  static constexpr size_t kCapacity = 20;
  bool settled(double loop_seconds) const;

  int64_t target_seconds_;
  int64_t next_ = 1;
  bool frozen_ = false;
  int64_t seen_ = 0;
  std::array<double, kCapacity> step_seconds_{};
  std::array<double, kCapacity> loop_seconds_{};
};

}  // namespace systole
