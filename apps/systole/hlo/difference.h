// Compares what a program computed with what it should have, as StableHLO's checks do.
#pragma once

#include <cstdint>
#include <string>

#include "systole/base/tensor.h"

namespace systole::app {

// How far elements may lie apart. Source: StableHLO, tests/CheckOps.td and CheckOps.cpp.
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

// Representable numbers of T's format between x and y; the largest number when either is infinite
// and they differ, or one is NaN and the other is not. T is a floating element type.
template <class T>
uint64_t ulp_distance(T x, T y);

// "" when all elements are as the rule wants them. Otherwise the first that is not, and how many
// are not: "index [0,2], got 1.5, expected 1.25, 2097152 ULP apart, expected at most 3; 1 of 6
// elements". Parts of complex numbers are compared one by one. Errors: INVALID_ARGUMENT when the
// types differ, and for `close` and `almost_eq` of elements that are no floats.
std::string difference(const Tensor& got, const Tensor& expected, const CheckRule& rule);

}  // namespace systole::app
