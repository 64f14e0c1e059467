#include "systole/backends/cpu/passes/upcast_dots.h"

#include "systole/backends/cpu/kernels/onednn.h"
#include "systole/backends/cpu/kernels/onednn_dot.h"
#include "systole/backends/cpu/passes/rewrite_each.h"
#include "systole/hlo/ir/builder.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;

bool wants_f32(const Instruction& x) {
  if (!x.is(Opcode::dot_general) && !x.is(Opcode::convolution)) return false;
  const DType dtype = x.operand(0).dtype();
  const bool narrow = dtype == DType::f16 || (dtype == DType::bf16 && !host_multiplies_bf16());
  if (!narrow || x.operand(1).dtype() != dtype) return false;
  if (x.dtype() != dtype && x.dtype() != DType::f32) return false;
  // A small one is a loop, which widens its elements by itself.
  return x.is(Opcode::convolution) || !dot_is_small(x);
}

void widen(Instruction& x, hlo::Computation& computation) {
  hlo::Builder b(computation, &x);
  b.set_metadata(x.metadata());
  const hlo::Value lhs = b.convert(x.operand(0), DType::f32);
  const hlo::Value rhs = x.operand(1) == x.operand(0) ? lhs : b.convert(x.operand(1), DType::f32);
  Instruction* product = b.op(x.opcode(), {lhs, rhs}, x.attrs(), {{DType::f32, x.shape()}});
  hlo::Computation::replace_all_uses(x.result(), b.convert(product->result(), x.dtype()));
  computation.erase(&x);
}

bool rewrite_wide_product(Instruction& x) {
  if (!wants_f32(x)) return false;
  widen(x, x.parent());
  return true;
}

}  // namespace

bool UpcastDots::run(hlo::Module& module) { return rewrite_each(module, rewrite_wide_product); }

}  // namespace systole::cpu
