#include "systole/backends/cpu/kernels/lapack.h"

#include "systole/backends/cpu/codegen/steps.h"

namespace systole::cpu {

void emit_lapack(FunctionEmitter& f, const hlo::Instruction& x) {
  std::vector<llvm::Value*> buffers;
  for (const hlo::Value& operand : x.operands()) buffers.push_back(f.address(f.slice(operand)));
  for (const Slice& result : result_slices(f, x)) buffers.push_back(f.address(result));
  f.call_kernel(make_lapack_kernel(x), buffers);
}

}  // namespace systole::cpu
