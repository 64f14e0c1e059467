#include "systole/backends/cpu/passes/bf16_products.h"

#include "systole/backends/cpu/passes/rewrite_each.h"
#include "systole/hlo/ir/builder.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;

bool rewrite_bf16_product(Instruction& x) {
  const bool product = x.is(Opcode::dot_general) || x.is(Opcode::convolution);
  if (!product || x.operand(0).dtype() != DType::f32 || x.operand(1).dtype() != DType::f32)
    return false;
  hlo::Builder b(x.parent(), &x);
  b.set_metadata(x.metadata());
  const hlo::Value lhs = b.convert(x.operand(0), DType::bf16);
  const hlo::Value rhs = x.operand(1) == x.operand(0) ? lhs : b.convert(x.operand(1), DType::bf16);
  x.set_operands({lhs, rhs});
  return true;
}

}  // namespace

bool Bf16Products::run(hlo::Module& module) { return rewrite_each(module, rewrite_bf16_product); }

}  // namespace systole::cpu
