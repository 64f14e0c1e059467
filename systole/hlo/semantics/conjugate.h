// The complex conjugate; for a real number the number itself. For algorithms that are written once
// for both.
#pragma once

#include <complex>

namespace systole::hlo {

inline double conjugate(double x) { return x; }
inline std::complex<double> conjugate(std::complex<double> x) { return std::conj(x); }

}  // namespace systole::hlo
