#include "systole/base/fixed_point.h"

#include <cmath>

#include "systole/base/error.h"

namespace systole {

FixedPointFactor fixed_point_factor(double factor) {
  if (!(factor >= 0) || !std::isfinite(factor)) {
    throw invalid_argument(
        "fixed_point_factor: factor, got {}, expected a finite number of at least 0", factor);
  }
  if (factor == 0) return {};
  int shift = 0;
  const double mantissa = std::frexp(factor, &shift);  // in [0.5, 1)
  auto multiplier = std::llround(mantissa * 2147483648.0);
  if (multiplier == int64_t{1} << 31) {
    multiplier /= 2;
    ++shift;
  }
  if (shift > kMaxFixedPointShift) {
    throw invalid_argument("fixed_point_factor: factor, got {}, expected less than 2^30", factor);
  }
  if (shift < kMinFixedPointShift) return {};
  return {.multiplier = static_cast<int32_t>(multiplier), .shift = shift};
}

}  // namespace systole
