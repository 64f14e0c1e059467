#include "systole/backends/cpu/analysis/product_fusion.h"

#include "systole/backends/cpu/codegen/thunks.h"

namespace systole::cpu {

void emit_product_fusion(FunctionEmitter& f, const hlo::Instruction& x) {
  std::vector<llvm::Value*> buffers;
  for (const hlo::Value& operand : completed_product(x).operands)
    buffers.push_back(f.address(f.slice(operand)));
  buffers.push_back(f.address(f.result_slices(x)[0]));
  f.call_kernel({KernelKind::product_fusion, &x}, buffers);
}

}  // namespace systole::cpu
