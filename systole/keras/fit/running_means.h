// Means over examples of what steps report; of metrics as objects the last value.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "systole/data/state.h"

namespace systole::keras {

class RunningMeans {
 public:
  // `running`: which values are metrics as objects.
  explicit RunningMeans(std::vector<bool> running)
      : running_(std::move(running)), sums_(running_.size()) {}
  void add(std::span<const float> values, int64_t examples) {
    for (size_t i = 0; i < sums_.size(); ++i) {
      if (running_[i]) {
        sums_[i] = static_cast<double>(values[i]);
        continue;
      }
      sums_[i] += static_cast<double>(values[i]) * static_cast<double>(examples);
    }
    examples_ += examples;
  }
  std::vector<double> means() const {
    std::vector<double> values = sums_;
    for (size_t i = 0; i < sums_.size(); ++i) {
      if (!running_[i]) values[i] /= static_cast<double>(std::max<int64_t>(examples_, 1));
    }
    return values;
  }
  int64_t examples() const { return examples_; }

  void save(StateWriter& writer) const {
    writer.number(static_cast<uint64_t>(examples_));
    for (const double sum : sums_) writer.number(std::bit_cast<uint64_t>(sum));
  }
  void restore(StateReader& reader) {
    examples_ = static_cast<int64_t>(reader.number());
    for (double& sum : sums_) sum = std::bit_cast<double>(reader.number());
  }

 private:
  std::vector<bool> running_;
  std::vector<double> sums_;
  int64_t examples_ = 0;
};

}  // namespace systole::keras
