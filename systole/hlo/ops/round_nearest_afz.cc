#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kRoundNearestAfz{
    .floating = [](double x) { return std::round(x); },
};

}  // namespace

extern const OpSemantics round_nearest_afz_semantics = elementwise<kRoundNearestAfz>();

}  // namespace systole::hlo::ops
