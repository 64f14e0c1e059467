// Helpers of thunks with windows.
#pragma once

#include "systole/backends/cpu/analysis/window_access.h"
#include "systole/backends/cpu/codegen/elements.h"

namespace systole::cpu {

// Emits an i1 that is true if all bounds hold; null if there are none.
llvm::Value* emit_inside(Elements& e, std::span<const Bound> bounds);
void need_bounds(ElementAccess& access, std::span<const Bound> bounds);

// An element of a window: its position in the operand, and the conditions under which it exists.
struct WindowElement {
  IndexRef index;
  std::vector<Bound> bounds;
};
WindowElement window_element(IndexSpace& space, const hlo::WindowAttrs& attrs, const Shape& operand,
                             std::span<const Affine> window, std::span<const Affine> inside);

// The accumulator type of a dot or convolution, one multiply-add, and zero. Without `regroup` the
// sum keeps the order of the program and rounds at each step, as complex products need, whose terms
// cancel.
DType product_accumulator(const hlo::Instruction& x);
llvm::Value* multiply_add(Elements& e, DType dtype, llvm::Value* sum, llvm::Value* x,
                          llvm::Value* y, bool regroup);
llvm::Value* zero_of(FunctionEmitter& f, DType dtype);

}  // namespace systole::cpu
