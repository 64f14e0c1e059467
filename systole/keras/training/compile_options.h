// What compile() takes.
#pragma once

#include <concepts>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "systole/base/error.h"
#include "systole/keras/functions/loss.h"
#include "systole/keras/functions/metric.h"
#include "systole/keras/optimizers/optimizer.h"

namespace systole::keras {

// One value for each output of a model: one for all, a list, or by the output's name.
template <class T>
class PerOutput {
 public:
  PerOutput() = default;
  // NOLINTBEGIN(bugprone-forwarding-reference-overload): never another PerOutput.
  template <class U>
  requires(std::constructible_from<T, U> && !std::same_as<std::remove_cvref_t<U>, PerOutput>)
      PerOutput(U&& one)
      : list_{T(std::forward<U>(one))}, one_(true) {}
  // NOLINTEND(bugprone-forwarding-reference-overload)
  PerOutput(std::initializer_list<T> list) : list_(list) {}
  PerOutput(std::initializer_list<std::pair<const std::string, T>> named) : named_(named) {}
  PerOutput(std::vector<T> list) : list_(std::move(list)) {}               // NOLINT
  PerOutput(std::map<std::string, T> named) : named_(std::move(named)) {}  // NOLINT

  bool empty() const { return list_.empty() && named_.empty(); }
  // Returns the names of a dict.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, value] : named_) all.push_back(name);
    return all;
  }
  // How the values were given: one for all outputs, a list, or by name.
  bool is_one() const { return one_; }
  const std::vector<T>& list() const { return list_; }
  const std::map<std::string, T>& named() const { return named_; }
  // The value for output `i` of `count`; nullopt where a dict does not name it. Errors:
  // INVALID_ARGUMENT for another number of values.
  std::optional<T> of(size_t i, size_t count, const std::string& name) const {
    if (!named_.empty()) {
      const auto it = named_.find(name);
      return it == named_.end() ? std::nullopt : std::optional(it->second);
    }
    if (list_.empty()) return std::nullopt;
    if (one_) return list_[0];
    if (list_.size() != count) {
      throw invalid_argument("got a list of {} values, expected one for each of {} outputs",
                             list_.size(), count);
    }
    return list_.at(i);
  }

 private:
  std::vector<T> list_;
  std::map<std::string, T> named_;
  bool one_ = false;
};

// How sample weights w and masks m enter the loss of an output, of values L.
enum class WeightRule : uint8_t {
  sum_of_weights,  // sum(L w m) / sum(w m): tf.keras 1.11 to 1.13
  // mean(L m / mean(m) w) / mean(w != 0): Keras 2.2.4; larger weights make a larger loss.
  count_of_weighted,
};

struct CompileOptions {
  OptimizerSpec optimizer = {};
  PerOutput<LossSpec> loss = {};
  std::vector<MetricSpec> metrics = {};
  // Metrics of outputs by name, besides `metrics`.
  std::map<std::string, std::vector<MetricSpec>> output_metrics = {};
  PerOutput<double> loss_weights = {};
  // Metrics that see sample weights.
  std::vector<MetricSpec> weighted_metrics = {};
  // "temporal": sample weights are [batch, time], for targets of three or more axes.
  PerOutput<std::string> sample_weight_mode = {};
  WeightRule weight_rule = WeightRule::sum_of_weights;
};

}  // namespace systole::keras
