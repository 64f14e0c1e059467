#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

std::complex<double> atan2(std::complex<double> y, std::complex<double> x) {
  const std::complex<double> i(0, 1);
  return -i * std::log((x + i * y) / std::sqrt(x * x + y * y));
}

constexpr BinaryKernel kAtan2{
    .floating = [](double x, double y) { return std::atan2(x, y); },
    .complex = [](std::complex<double> x, std::complex<double> y) { return atan2(x, y); },
};

}  // namespace

extern const OpSemantics atan2_semantics = elementwise<kAtan2>();

}  // namespace systole::hlo::ops
