// Histograms as TensorBoard shows them: TensorFlow's buckets (lib/histogram/histogram.cc).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "systole/base/tensor.h"

namespace systole {

// `bucket[i]` counts the values below bucket_limit[i] that are in no bucket before it.
struct Histogram {
  double min = 0;
  double max = 0;
  double num = 0;
  double sum = 0;
  double sum_squares = 0;
  std::vector<double> bucket_limit;
  std::vector<double> bucket;
};

// The limits of all buckets: 1e-12 * 1.1^k up to 1e20 and the largest double, mirrored, and 0.
std::span<const double> histogram_limits();

// The histogram of all elements; runs of empty buckets are one. Errors: INVALID_ARGUMENT for a
// dtype that is not numeric or complex; names the first NaN or infinity and where it is.
Histogram make_histogram(const Tensor& values);

}  // namespace systole
