#include "systole/backends/cpu/kernels/processes.h"

#include "systole/backends/cpu/codegen/steps.h"

namespace systole::cpu {

void emit_processes(FunctionEmitter& f, const hlo::Instruction& x) {
  std::vector<llvm::Value*> buffers;
  for (const hlo::Value& operand : x.operands()) buffers.push_back(f.address(f.slice(operand)));
  buffers.push_back(f.address(result_slices(f, x)[0]));
  f.call_kernel(make_process_kernel(x, f.program.processes), buffers);
}

}  // namespace systole::cpu
