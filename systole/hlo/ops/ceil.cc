#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kCeil{
    .floating = [](double x) { return std::ceil(x); },
};

}  // namespace

extern const OpSemantics ceil_semantics = elementwise<kCeil>();

}  // namespace systole::hlo::ops
