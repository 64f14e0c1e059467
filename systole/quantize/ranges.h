// Ranges of activations and the quantized types that represent them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "systole/base/quantized_type.h"
#include "systole/base/tensor.h"

namespace systole::quantize {

// How the range of an activation follows from the values that it had on the calibration data.
enum class RangeMethod : uint8_t {
  min_max,     // the least and greatest values
  percentile,  // leaves out the same fraction of values at both ends
  mse,         // the range with the least mean squared error of 8-bit integers
};
// Errors: INVALID_ARGUMENT for a name other than min_max, percentile, mse.
RangeMethod range_method_from_name(std::string_view name);

struct Range {
  double least = 0;
  double greatest = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

// Counts of values in bins of equal width. The bins grow with the values: adding tensors in any
// order gives counts of one total, with ranges that differ by at most a bin. Not thread-safe.
class Histogram {
 public:
  static constexpr int kBins = 2048;

  // Adds the elements of an f32 tensor. Errors: INVALID_ARGUMENT for NaN or infinity, with the
  // element's index.
  void add(const Tensor& values);

  int64_t count() const { return count_; }
  double least() const { return least_; }
  double greatest() const { return greatest_; }

  // The range by a method. `percentile` is in (50, 100]: 99.99 leaves out 0.01 % of the values at
  // each end. The range contains 0, as quantized types need. Errors: INVALID_ARGUMENT without
  // values or for a percentile out of range.
  Range range(RangeMethod method, double percentile = 99.99) const;

 private:
  void grow(double magnitude);
  Range percentile_range(double percentile) const;
  Range least_error_range() const;
  double center(size_t bin) const;

  std::vector<int64_t> bins_;  // of [-limit_, limit_)
  double limit_ = 0;           // a power of two
  int64_t count_ = 0;
  double least_ = 0;
  double greatest_ = 0;
};

// The signed 8-bit type of a range, by gemmlowp's formula: the scale is (max - min) / 255, the zero
// point the integer nearest to 0. A range without width has the scale 1.
QuantizedTypePtr activation_type(const Range& range);

// Signed 8-bit weights in [-127, 127], with the zero point 0 and one scale per index of `axis`:
// the greatest magnitude / 127, or those given. A scale of only zeros is 1.
struct QuantizedWeights {
  Tensor values;  // s8
  QuantizedTypePtr type;
};
QuantizedWeights quantize_weights(const Tensor& weights, int axis,
                                  std::span<const double> scales = {});
// The same with one scale for the whole tensor.
QuantizedWeights quantize_table(const Tensor& weights);

// Returns bias / scales, rounded to the nearest integer (ties away from zero) and saturated to 32
// bits. `scales`: one for all elements, or one for each.
Tensor quantize_bias(const Tensor& bias, std::span<const double> scales);

}  // namespace systole::quantize
