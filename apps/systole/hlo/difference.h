// Compares computed with expected values as StableHLO's checks do.
#pragma once

#include <cstdint>
#include <string>

#include "systole/base/tensor.h"

namespace systole::app {

// The permitted difference of elements. Source: StableHLO, tests/CheckOps.td and CheckOps.cpp.
struct CheckRule {
  enum class Kind : uint8_t {
    eq,         // the same number: zeros of either sign are, a NaN never is
    almost_eq,  // at most `tolerance` apart, or both NaN, or the same infinity
    close,      // min_ulps to max_ulps apart; NaNs are 0 apart, what is not finite is alone
  };
  Kind kind = Kind::eq;
  double tolerance = 0;
  uint64_t min_ulps = 0;
  uint64_t max_ulps = 0;
};

// Returns the distance of x and y in representable numbers of T, a floating element type. Returns
// the largest number if they differ and either is infinite, or if only one is NaN.
template <class T>
uint64_t ulp_distance(T x, T y);

// Returns "" if all elements satisfy the rule. Otherwise describes the first that does not and
// counts all: "index [0,2], got 1.5, expected 1.25, 2097152 ULP apart, expected at most 3; 1 of 6
// elements". Compares the parts of complex numbers separately. Errors: INVALID_ARGUMENT if the
// types differ, or for `close` and `almost_eq` of elements that are not floats.
std::string difference(const Tensor& got, const Tensor& expected, const CheckRule& rule);

}  // namespace systole::app
