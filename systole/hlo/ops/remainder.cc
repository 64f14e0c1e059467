#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

// Division by zero gives the dividend, as in XLA. The result has the dividend's sign.
int64_t remainder(int64_t x, int64_t y) {
  if (y == 0) return x;
  return y == -1 ? 0 : x % y;
}

constexpr BinaryKernel kRemainder{
    .floating = [](double x, double y) { return std::fmod(x, y); },
    .signed_integer = [](int64_t x, int64_t y) { return remainder(x, y); },
    .unsigned_integer = [](uint64_t x, uint64_t y) { return y == 0 ? x : x % y; },
};

}  // namespace

extern const OpSemantics remainder_semantics = elementwise<kRemainder>();

}  // namespace systole::hlo::ops
