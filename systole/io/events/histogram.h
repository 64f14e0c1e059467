// Histograms with TensorFlow's buckets (lib/histogram/histogram.cc).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "systole/base/tensor.h"

namespace systole {

// bucket[i] counts the values in [bucket_limit[i - 1], bucket_limit[i]).
struct Histogram {
  double min = 0;
  double max = 0;
  double num = 0;
  double sum = 0;
  double sum_squares = 0;
  std::vector<double> bucket_limit;
  std::vector<double> bucket;
};

// Returns the limits of all buckets: 1e-12 * 1.1^k up to 1e20 and the largest double, mirrored, and
// 0.
std::span<const double> histogram_limits();

// Returns the histogram of all elements, with runs of empty buckets merged. Errors:
// INVALID_ARGUMENT for a dtype that is not numeric or is complex, and for NaN or infinity, with the
// first one's index.
Histogram make_histogram(const Tensor& values);

}  // namespace systole
