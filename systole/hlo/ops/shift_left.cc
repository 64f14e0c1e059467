#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr BinaryKernel kShiftLeft{
    .bits = [](uint64_t x, uint64_t y,
               int width) { return y < static_cast<uint64_t>(width) ? x << y : 0; },
};

}  // namespace

extern const OpSemantics shift_left_semantics = elementwise<kShiftLeft>();

}  // namespace systole::hlo::ops
