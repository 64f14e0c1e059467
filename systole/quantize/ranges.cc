#include "systole/quantize/ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "systole/base/error.h"

namespace systole::quantize {
namespace {

constexpr int kLevels = 255;  // steps between the 256 integers
constexpr int kWeightLimit = 127;

QuantizedWeights weights_of(const Tensor& weights, QuantizedType type,
                            std::span<const double> given = {}) {
  const Shape& shape = weights.shape();
  int64_t inner = 1;
  for (int i = type.axis + 1; type.axis >= 0 && i < shape.rank(); ++i) inner *= shape[i];
  const int64_t channels = type.axis < 0 ? 1 : shape[type.axis];
  const std::span<const float> in = weights.data<float>();
  std::vector<double> largest(static_cast<size_t>(channels), 0);
  const auto channel_of = [&](size_t i) {
    return static_cast<size_t>(static_cast<int64_t>(i) / inner % channels);
  };
  for (size_t i = 0; i < in.size(); ++i) {
    double& most = largest[channel_of(i)];
    most = std::max(most, static_cast<double>(std::abs(in[i])));
  }
  for (size_t c = 0; c < largest.size(); ++c) {
    // A scale below f32's normal numbers has no inverse.
    const double scale = given.empty() ? largest[c] / kWeightLimit : given[c];
    type.scales.push_back(scale < std::numeric_limits<float>::min() ? 1.0 : scale);
    type.zero_points.push_back(0);
  }
  Tensor values(DType::s8, shape);
  const std::span<int8_t> out = values.data<int8_t>();
  for (size_t i = 0; i < in.size(); ++i) {
    const double integer = std::round(in[i] / type.scales[channel_of(i)]);
    out[i] = static_cast<int8_t>(std::clamp<double>(integer, -kWeightLimit, kWeightLimit));
  }
  return {values, std::make_shared<const QuantizedType>(std::move(type))};
}

QuantizedType weight_type(int axis) {
  QuantizedType type;
  type.storage_min = -kWeightLimit;
  type.storage_max = kWeightLimit;
  type.axis = axis;
  return type;
}

}  // namespace

RangeMethod range_method_from_name(std::string_view name) {
  if (name == "min_max") return RangeMethod::min_max;
  if (name == "percentile") return RangeMethod::percentile;
  if (name == "mse") return RangeMethod::mse;
  throw invalid_argument("range method, got '{}', expected min_max, percentile or mse", name);
}

void Histogram::add(const Tensor& values) {
  const std::span<const float> elements = values.data<float>();
  float least = 0;
  float greatest = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!std::isfinite(elements[i])) {
      throw invalid_argument("calibration: element {} of {}, got {}, expected a finite number", i,
                             values.shape(), elements[i]);
    }
    least = i == 0 ? elements[i] : std::min(least, elements[i]);
    greatest = i == 0 ? elements[i] : std::max(greatest, elements[i]);
  }
  if (elements.empty()) return;
  least_ = count_ == 0 ? least : std::min<double>(least_, least);
  greatest_ = count_ == 0 ? greatest : std::max<double>(greatest_, greatest);
  grow(std::max(std::abs(static_cast<double>(least)), std::abs(static_cast<double>(greatest))));
  const double per_bin = kBins / (2 * limit_);
  for (const float x : elements) {
    const auto bin = static_cast<int64_t>((x + limit_) * per_bin);
    ++bins_[std::clamp<int64_t>(bin, 0, kBins - 1)];
  }
  count_ += static_cast<int64_t>(elements.size());
}

// Doubles the limit: two bins become one.
void Histogram::grow(double magnitude) {
  if (bins_.empty()) {
    bins_.assign(kBins, 0);
    limit_ = std::exp2(std::ceil(std::log2(std::max(magnitude, 1e-30))));
  }
  while (limit_ < magnitude) {
    std::vector<int64_t> wider(kBins, 0);
    for (size_t i = 0; i < kBins; ++i) wider[kBins / 4 + i / 2] += bins_[i];
    bins_ = std::move(wider);
    limit_ *= 2;
  }
}

double Histogram::center(size_t bin) const {
  return (static_cast<double>(bin) + 0.5) * 2 * limit_ / kBins - limit_;
}

Range Histogram::range(RangeMethod method, double percentile) const {
  if (count_ == 0) throw invalid_argument("calibration: values, got none, expected some");
  Range range{least_, greatest_};
  if (method == RangeMethod::percentile) range = percentile_range(percentile);
  if (method == RangeMethod::mse) range = least_error_range();
  return {std::min(range.least, 0.0), std::max(range.greatest, 0.0)};
}

Range Histogram::percentile_range(double percentile) const {
  if (!(percentile > 50 && percentile <= 100)) {
    throw invalid_argument("calibration: percentile, got {}, expected in (50, 100]", percentile);
  }
  const auto left_out =
      static_cast<int64_t>(static_cast<double>(count_) * (100 - percentile) / 100);
  size_t low = 0;
  for (int64_t seen = bins_[0]; seen <= left_out && low + 1 < kBins; seen += bins_[++low]) {
  }
  size_t high = kBins - 1;
  for (int64_t seen = bins_[high]; seen <= left_out && high > 0; seen += bins_[--high]) {
  }
  const double half = limit_ / kBins;
  return {std::max(center(low) - half, least_), std::min(center(high) + half, greatest_)};
}

// Tries ranges that shrink from the whole one to a fifth of it.
Range Histogram::least_error_range() const {
  constexpr int kSteps = 80;
  Range best{least_, greatest_};
  double least_error = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kSteps; ++step) {
    const double part = 1 - 0.01 * step;
    const Range tried{std::min(least_ * part, 0.0), std::max(greatest_ * part, 0.0)};
    const QuantizedTypePtr type = activation_type(tried);
    const double scale = type->scales[0];
    const auto zero = static_cast<double>(type->zero_points[0]);
    double error = 0;
    for (size_t bin = 0; bin < kBins; ++bin) {
      if (bins_[bin] == 0) continue;
      const double x = center(bin);
      const double integer = std::clamp(std::nearbyint(x / scale + zero), -128.0, 127.0);
      const double missed = (integer - zero) * scale - x;
      error += missed * missed * static_cast<double>(bins_[bin]);
    }
    if (error < least_error) {
      least_error = error;
      best = tried;
    }
  }
  return best;
}

QuantizedTypePtr activation_type(const Range& range) {
  const double least = std::min(range.least, 0.0);
  const double greatest = std::max(range.greatest, 0.0);
  const double scale = (greatest - least) / kLevels;
  if (scale < std::numeric_limits<float>::min()) return per_tensor_type(DType::s8, 1, 0);
  const double zero = std::clamp(std::round(-128 - least / scale), -128.0, 127.0);
  return per_tensor_type(DType::s8, scale, static_cast<int64_t>(zero));
}

QuantizedWeights quantize_weights(const Tensor& weights, int axis, std::span<const double> scales) {
  return weights_of(weights, weight_type(axis), scales);
}

QuantizedWeights quantize_table(const Tensor& weights) {
  return weights_of(weights, weight_type(-1));
}

Tensor quantize_bias(const Tensor& bias, std::span<const double> scales) {
  Tensor result(DType::s32, bias.shape());
  for (size_t i = 0; i < result.data<int32_t>().size(); ++i) {
    const double integer = std::round(bias.data<float>()[i] / scales[scales.size() == 1 ? 0 : i]);
    result.data<int32_t>()[i] = static_cast<int32_t>(std::clamp<double>(
        integer, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
  }
  return result;
}

}  // namespace systole::quantize
