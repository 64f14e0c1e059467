#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kRoundNearestEven{
    .floating = [](double x) { return std::nearbyint(x); },
};

}  // namespace

extern const OpSemantics round_nearest_even_semantics = elementwise<kRoundNearestEven>();

}  // namespace systole::hlo::ops
