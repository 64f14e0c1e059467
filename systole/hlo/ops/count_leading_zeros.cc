#include <bit>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kCountLeadingZeros{
    .bits = [](uint64_t x,
               int width) { return static_cast<uint64_t>(std::countl_zero(x) - (64 - width)); },
};

}  // namespace

extern const OpSemantics count_leading_zeros_semantics = elementwise<kCountLeadingZeros>();

}  // namespace systole::hlo::ops
