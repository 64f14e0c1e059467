// The result of TPUEstimator::evaluate().
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <string_view>

#include "systole/base/tensor.h"

namespace systole {

// The metrics of an evaluation.
class Evaluation {
 public:
  using Values = std::map<std::string, Tensor, std::less<>>;

  Evaluation() = default;
  Evaluation(Values values, int64_t examples) : values_(std::move(values)), examples_(examples) {}

  // Returns a scalar metric: evaluation["accuracy"]. "global_step" always exists, "loss" if there
  // were examples. Errors: NOT_FOUND lists the metrics; INVALID_ARGUMENT for a metric that is not a
  // scalar.
  double operator[](std::string_view name) const;
  const Tensor& tensor(std::string_view name) const;
  const Values& values() const { return values_; }
  // The metrics by name: for (const auto& [name, value] : evaluation).
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  // The number of evaluated examples.
  int64_t examples() const { return examples_; }
  // "accuracy = 0.99, global_step = 1000, loss = 0.03"
  std::string to_string() const;

 private:
  Values values_;
  int64_t examples_ = 0;
};

// Prints to_string().
std::ostream& operator<<(std::ostream& out, const Evaluation& evaluation);

}  // namespace systole
