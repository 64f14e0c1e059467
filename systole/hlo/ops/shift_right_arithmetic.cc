#include <algorithm>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

// The highest bit is the sign, also of unsigned types. Shifts by the width or more leave only sign
// bits.
uint64_t shift_right_arithmetic(uint64_t x, uint64_t amount, int width) {
  const int unused = 64 - width;
  const auto extended = static_cast<int64_t>(x << unused) >> unused;
  return static_cast<uint64_t>(extended >> std::min<uint64_t>(amount, 63));
}

constexpr BinaryKernel kShiftRightArithmetic{
    .bits = [](uint64_t x, uint64_t y, int width) { return shift_right_arithmetic(x, y, width); },
};

}  // namespace

extern const OpSemantics shift_right_arithmetic_semantics = elementwise<kShiftRightArithmetic>();

}  // namespace systole::hlo::ops
