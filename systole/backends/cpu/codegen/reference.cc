#include "systole/backends/cpu/kernels/reference.h"

#include "systole/backends/cpu/codegen/steps.h"
#include "systole/hlo/passes/analysis.h"

namespace systole::cpu {

void emit_reference(FunctionEmitter& f, const hlo::Instruction& x) {
  std::vector<llvm::Value*> buffers;
  for (const hlo::Value& operand : x.operands()) buffers.push_back(f.address(f.slice(operand)));
  for (const hlo::Value& value : hlo::captures(x)) buffers.push_back(f.address(f.slice(value)));
  for (const Slice& result : result_slices(f, x)) buffers.push_back(f.address(result));
  f.call_kernel(make_reference_kernel(x), buffers);
}

}  // namespace systole::cpu
