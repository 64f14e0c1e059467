// References for functions that <cmath> lacks.
#pragma once

#include <cmath>

namespace systole::hlo::chlo::testing {

using Real = long double;

// By recurrence to where the asymptotic series has all digits; x >= 0.
inline Real digamma(Real x) {
  if (x == 0) return std::nan("");
  Real sum = 0;
  for (; x < 30; ++x) sum -= 1 / x;
  const Real square = 1 / (x * x);
  const Real series =
      square *
      (1 / 12.0L -
       square * (1 / 120.0L -
                 square * (1 / 252.0L -
                           square * (1 / 240.0L - square * (1 / 132.0L - square * 691 / 32760)))));
  return sum + std::log(x) - 1 / (2 * x) - series;
}

// The power series, all of whose terms are positive.
inline Real bessel_i1e(Real x) {
  if (std::isnan(x)) return x;
  const Real square = x * x / 4;
  Real term = std::exp(-std::abs(x)) * x / 2;
  Real sum = 0;
  for (int k = 1; term != 0 && std::abs(term) > std::abs(sum) * 1e-21L; ++k) {
    sum += term;
    term *= square / k / (k + 1);
  }
  return sum;
}

// Newton's steps on erfc, which is accurate where x is close to 1.
inline Real erf_inv(Real x) {
  const Real size = std::abs(x);
  if (size >= 1) return size == 1 ? x * INFINITY : std::nan("");
  const Real w = -std::log((1 - size) * (1 + size));
  Real y = size * (w < 5 ? 0.886L + w * 0.14L : std::sqrt(w) - 0.2L);
  for (int step = 0; step < 30; ++step) {
    const Real excess = size < 0.5L ? std::erf(y) - size : (1 - size) - std::erfc(y);
    const Real slope = 2 / std::sqrt(std::acos(-1.0L)) * std::exp(-y * y);
    const Real change = excess / slope;
    y -= change / (1 + y * change);
  }
  return std::copysign(y, x);
}

}  // namespace systole::hlo::chlo::testing
