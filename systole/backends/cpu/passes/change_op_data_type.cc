#include "systole/backends/cpu/passes/change_op_data_type.h"

#include "systole/backends/cpu/kernels/onednn.h"
#include "systole/backends/cpu/kernels/onednn_dot.h"
#include "systole/backends/cpu/passes/rewrite_each.h"
#include "systole/hlo/ir/builder.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;

bool is_matrix_product(const Instruction& x) {
  return x.is(Opcode::dot_general) || x.is(Opcode::convolution);
}

bool wants_f32(const Instruction& x) {
  if (!is_matrix_product(x)) return false;
  const DType dtype = x.operand(0).dtype();
  const bool narrow = dtype == DType::f16 || (dtype == DType::bf16 && !host_multiplies_bf16());
  if (!narrow || x.operand(1).dtype() != dtype) return false;
  if (x.dtype() != dtype && x.dtype() != DType::f32) return false;
  // A small one is a loop, which widens its elements by itself.
  return x.is(Opcode::convolution) || !dot_is_small(x);
}

std::vector<hlo::Value> converted_operands(hlo::Builder& b, const Instruction& x, DType dtype) {
  const hlo::Value lhs = b.convert(x.operand(0), dtype);
  return {lhs, x.operand(1) == x.operand(0) ? lhs : b.convert(x.operand(1), dtype)};
}

bool round_operands(Instruction& x) {
  if (!is_matrix_product(x) || x.operand(0).dtype() != DType::f32 ||
      x.operand(1).dtype() != DType::f32)
    return false;
  hlo::Builder b(x.parent(), &x);
  b.set_metadata(x.metadata());
  x.set_operands(converted_operands(b, x, DType::bf16));
  return true;
}

bool widen(Instruction& x) {
  if (!wants_f32(x)) return false;
  hlo::Builder b(x.parent(), &x);
  b.set_metadata(x.metadata());
  Instruction* product =
      b.op(x.opcode(), converted_operands(b, x, DType::f32), x.attrs(), {{DType::f32, x.shape()}});
  hlo::Computation::replace_all_uses(x.result(), b.convert(product->result(), x.dtype()));
  x.parent().erase(&x);
  return true;
}

}  // namespace

bool Bf16Products::run(hlo::Module& module) { return rewrite_each(module, round_operands); }

bool ChangeOpDataType::run(hlo::Module& module) { return rewrite_each(module, widen); }

}  // namespace systole::cpu
