// How many steps a launch takes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace systole::keras {

// About a quarter of a second of work, so that a bar moves and a signal ends the training soon. The
// first launches are short, since the time of a step is not known.
class Pace {
 public:
  int64_t steps(int64_t most) const { return std::min(steps_, most); }
  // Runs a launch of `steps` steps.
  template <class Launch>
  void time(int64_t steps, Launch&& launch) {
    const auto begin = std::chrono::steady_clock::now();
    launch();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    constexpr double kLaunchSeconds = 0.25;
    constexpr int64_t kGrowth = 8;
    const double fit = kLaunchSeconds / std::max(seconds.count(), 1e-6);
    steps_ = std::clamp<int64_t>(static_cast<int64_t>(fit * static_cast<double>(steps)), 1,
                                 steps_ * kGrowth);
  }

 private:
  int64_t steps_ = 1;
};

}  // namespace systole::keras
