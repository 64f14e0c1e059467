#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr BinaryKernel kXor{
    .bits = [](uint64_t x, uint64_t y, int) { return x ^ y; },
    .pred = [](bool x, bool y) { return x != y; },
};

}  // namespace

extern const OpSemantics xor_semantics = elementwise<kXor>();

}  // namespace systole::hlo::ops
