#include "systole/io/events/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace systole {
namespace {

std::vector<double> make_limits() {
  std::vector<double> positive;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
  positive.push_back(std::numeric_limits<double>::max());
  std::vector<double> limits;
  for (auto it = positive.rbegin(); it != positive.rend(); ++it) limits.push_back(-*it);
  limits.push_back(0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  return limits;
}

}  // namespace

std::span<const double> histogram_limits() {
  static const std::vector<double> limits = make_limits();
  return limits;
}

Histogram make_histogram(const Tensor& values) {
  if (!is_numeric(values.dtype()) || is_complex(values.dtype())) {
    throw invalid_argument("histogram: dtype, got {}, expected real numbers", values.dtype());
  }
  const std::span<const double> limits = histogram_limits();
  std::vector<double> counts(limits.size(), 0.0);
  Histogram result{.min = limits.back(), .max = -limits.back()};
  for (int64_t i = 0; i < values.num_elements(); ++i) {
    const double value = values.as_double(i);
    if (!std::isfinite(value)) {
      throw invalid_argument("histogram: element {} of {}, got {}, expected finite numbers", i,
                             values.type(), value);
    }
    // The largest double belongs to the last bucket.
    const auto bucket =
        std::min<std::ptrdiff_t>(std::ranges::upper_bound(limits, value) - limits.begin(),
                                 static_cast<std::ptrdiff_t>(limits.size()) - 1);
    ++counts[bucket];
    result.min = std::min(result.min, value);
    result.max = std::max(result.max, value);
    ++result.num;
    result.sum += value;
    result.sum_squares += value * value;
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0 && i + 1 < counts.size() && counts[i + 1] == 0) continue;
    result.bucket_limit.push_back(limits[i]);
    result.bucket.push_back(counts[i]);
  }
  return result;
}

}  // namespace systole
