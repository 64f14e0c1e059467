#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr BinaryKernel kOr{
    .bits = [](uint64_t x, uint64_t y, int) { return x | y; },
    .pred = [](bool x, bool y) { return x || y; },
};

}  // namespace

extern const OpSemantics or_semantics = elementwise<kOr>();

}  // namespace systole::hlo::ops
