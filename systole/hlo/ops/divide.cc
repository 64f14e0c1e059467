#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

// Division by zero gives -1, as in XLA. The lowest value divided by -1 wraps to itself.
int64_t divide(int64_t x, int64_t y) {
  if (y == 0) return -1;
  if (y == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
  return x / y;
}

constexpr BinaryKernel kDivide{
    .floating = [](double x, double y) { return x / y; },
    .complex = [](std::complex<double> x, std::complex<double> y) { return x / y; },
    .signed_integer = [](int64_t x, int64_t y) { return divide(x, y); },
    .unsigned_integer = [](uint64_t x, uint64_t y) { return y == 0 ? ~uint64_t{0} : x / y; },
};

}  // namespace

extern const OpSemantics divide_semantics =
    elementwise<kDivide>({.sum_over_replicas = replicas::sum_product});

}  // namespace systole::hlo::ops
