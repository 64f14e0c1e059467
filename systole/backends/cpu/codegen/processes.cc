#include "systole/backends/cpu/kernels/processes.h"

#include "systole/backends/cpu/codegen/steps.h"

namespace systole::cpu {

void emit_processes(FunctionEmitter& f, const hlo::Instruction& x) {
  f.call_kernel(make_process_kernel(x, f.program.processes),
                {f.address(f.slice(x.operand(0))), f.address(result_slices(f, x)[0])});
}

}  // namespace systole::cpu
