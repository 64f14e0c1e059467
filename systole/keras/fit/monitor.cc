#include "systole/keras/fit/monitor.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/suggest.h"

namespace systole::keras {

Monitor::Monitor(std::string callback, std::string name, const std::string& mode, double min_delta)
    : callback_(std::move(callback)), name_(std::move(name)), min_delta_(std::abs(min_delta)) {
  if (mode != "auto" && mode != "min" && mode != "max") {
    throw invalid_argument("{}: mode, got '{}', expected auto, min or max", callback_, mode);
  }
  maximize_ = mode == "max" || (mode == "auto" && name_.find("acc") != std::string::npos);
}

void Monitor::begin(const FitParams& params) {
  const auto known = [&](const std::string& name) {
    return std::ranges::find(params.metrics, name) != params.metrics.end();
  };
  if (known(name_)) return;
  std::string other = name_;
  if (const size_t at = other.find("accuracy"); at != std::string::npos) {
    other.replace(at, 8, "acc");
  }
  if (!known(other)) {
    throw invalid_argument("{}: monitor, got '{}', expected one of {}{}", callback_, name_,
                           fmt::join(params.metrics, ", "), did_you_mean(name_, params.metrics));
  }
  name_ = other;
}

double Monitor::worst() const {
  const double infinity = std::numeric_limits<double>::infinity();
  return maximize_ ? -infinity : infinity;
}

}  // namespace systole::keras
