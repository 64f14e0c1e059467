#include "systole/backends/cpu/passes/bf16_products.h"

#include "systole/backends/cpu/analysis/liveness.h"
#include "systole/hlo/builder.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;

bool rewrite_bf16_product(hlo::Computation& computation) {
  bool changed = false;
  for (Instruction* x : computation.instructions()) {
    for (int r = 0; has_programs(*x) && r < x->num_regions(); ++r)
      changed = rewrite_bf16_product(x->region(r)) || changed;
    const bool product = x->is(Opcode::dot_general) || x->is(Opcode::convolution);
    if (!product || x->operand(0).dtype() != DType::f32 || x->operand(1).dtype() != DType::f32)
      continue;
    hlo::Builder b(computation, x);
    b.set_metadata(x->metadata());
    const hlo::Value lhs = b.convert(x->operand(0), DType::bf16);
    const hlo::Value rhs =
        x->operand(1) == x->operand(0) ? lhs : b.convert(x->operand(1), DType::bf16);
    x->set_operands({lhs, rhs});
    changed = true;
  }
  return changed;
}

}  // namespace

bool Bf16Products::run(hlo::Module& module) {
  bool changed = false;
  for (const auto& function : module.functions())
    changed = rewrite_bf16_product(*function) || changed;
  return changed;
}

}  // namespace systole::cpu
