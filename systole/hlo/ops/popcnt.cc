#include <bit>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kPopcnt{
    .bits = [](uint64_t x, int) { return static_cast<uint64_t>(std::popcount(x)); },
};

}  // namespace

extern const OpSemantics popcnt_semantics = elementwise<kPopcnt>();

}  // namespace systole::hlo::ops
