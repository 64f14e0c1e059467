#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kNot{
    .bits = [](uint64_t x, int) { return ~x; },
    .pred = [](bool x) { return !x; },
};

}  // namespace

extern const OpSemantics not_semantics = elementwise<kNot>();

}  // namespace systole::hlo::ops
