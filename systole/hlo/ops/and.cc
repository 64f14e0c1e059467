#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr BinaryKernel kAnd{
    .bits = [](uint64_t x, uint64_t y, int) { return x & y; },
    .pred = [](bool x, bool y) { return x && y; },
};

}  // namespace

extern const OpSemantics and_semantics = elementwise<kAnd>();

}  // namespace systole::hlo::ops
