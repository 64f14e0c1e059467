// Errors in units of the last place.
#pragma once

#include <algorithm>
#include <cmath>

#include "systole/base/error.h"
#include "systole/base/tensor.h"

namespace systole::hlo::chlo::testing {

// Returns the distance of `got` from `expected` in units of the last place of `expected` in the
// format; infinity if only one is NaN or only one is infinite.
inline double ulp_error(DType dtype, double got, long double expected) {
  struct Format {
    int bits;             // of the mantissa, the hidden one included
    int lowest_exponent;  // of a denormal's last place
    long double largest;
  };
  const Format format = dtype == DType::f64    ? Format{53, -1074, 0x1.fffffffffffffp1023L}
                        : dtype == DType::f32  ? Format{24, -149, 0x1.fffffep127L}
                        : dtype == DType::f16  ? Format{11, -24, 65504.0L}
                        : dtype == DType::bf16 ? Format{8, -133, 0x1.fep127L}
                                               : throw internal_error("ulp: got {}", dtype);
  if (std::isnan(got) || std::isnan(expected)) {
    return std::isnan(got) && std::isnan(expected) ? 0 : INFINITY;
  }
  if (std::isinf(got))
    return got * expected > 0 && std::abs(expected) > format.largest ? 0 : INFINITY;
  if (std::isinf(expected)) return INFINITY;
  const int exponent =
      expected == 0 ? format.lowest_exponent : std::ilogb(expected) + 1 - format.bits;
  const long double unit = std::ldexp(1.0L, std::max(exponent, format.lowest_exponent));
  return static_cast<double>(std::abs(got - expected) / unit);
}

}  // namespace systole::hlo::chlo::testing
