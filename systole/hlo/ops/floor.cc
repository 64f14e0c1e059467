#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kFloor{
    .floating = [](double x) { return std::floor(x); },
};

}  // namespace

extern const OpSemantics floor_semantics = elementwise<kFloor>();

}  // namespace systole::hlo::ops
