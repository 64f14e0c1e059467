// How long the parts of a program took.
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <string>
#include <string_view>

namespace examples {

// Not thread-safe.
class Stopwatch {
 public:
  // Since the last lap, or the start.
  void lap(std::string_view part) {
    const auto now = std::chrono::steady_clock::now();
    parts_ += fmt::format("{}{} {:.1f} s", parts_.empty() ? "" : ", ", part,
                          std::chrono::duration<double>(now - last_).count());
    last_ = now;
  }
  // "data 0.4 s, training 20.1 s: 20.5 s in all"
  std::string report() const {
    return fmt::format("{}: {:.1f} s in all", parts_,
                       std::chrono::duration<double>(last_ - start_).count());
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = start_;
  std::string parts_;
};

}  // namespace examples
