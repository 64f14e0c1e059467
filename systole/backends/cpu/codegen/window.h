// What the code of windows shares.
#pragma once

#include "systole/backends/cpu/analysis/window_access.h"
#include "systole/backends/cpu/codegen/elements.h"

namespace systole::cpu {

// An i1; null when there is no bound.
llvm::Value* emit_inside(Elements& e, std::span<const Bound> bounds);
void need_bounds(ElementAccess& access, std::span<const Bound> bounds);

// An element of a window: where it lies in the operand, and under which conditions it does.
struct WindowElement {
  IndexRef index;
  std::vector<Bound> bounds;
};
WindowElement window_element(IndexSpace& space, const hlo::WindowAttrs& attrs, const Shape& operand,
                             std::span<const Affine> window, std::span<const Affine> inside);

// The accumulator of a dot or convolution, a step of one, and its start. A sum that may not be
// regrouped is that of the text, rounded at each step: so are the parts of complex numbers, whose
// products cancel.
DType product_accumulator(const hlo::Instruction& x);
llvm::Value* multiply_add(Elements& e, DType dtype, llvm::Value* sum, llvm::Value* x,
                          llvm::Value* y, bool regroup);
llvm::Value* zero_of(FunctionEmitter& f, DType dtype);

}  // namespace systole::cpu
