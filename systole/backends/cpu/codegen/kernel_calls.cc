#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/backends/cpu/kernels/lapack.h"
#include "systole/backends/cpu/kernels/processes.h"
#include "systole/backends/cpu/kernels/reference.h"
#include "systole/hlo/analysis/queries.h"

namespace systole::cpu {
namespace {

void emit_call(FunctionEmitter& f, const hlo::Instruction& x, std::unique_ptr<Kernel> kernel,
               std::span<const hlo::Value> captured = {}) {
  std::vector<llvm::Value*> buffers;
  for (const hlo::Value& operand : x.operands()) buffers.push_back(f.address(f.slice(operand)));
  for (const hlo::Value& value : captured) buffers.push_back(f.address(f.slice(value)));
  for (const Slice& result : f.result_slices(x)) buffers.push_back(f.address(result));
  f.call_kernel(std::move(kernel), buffers);
}

}  // namespace

void emit_lapack(FunctionEmitter& f, const hlo::Instruction& x) {
  emit_call(f, x, make_lapack_kernel(x));
}

void emit_processes(FunctionEmitter& f, const hlo::Instruction& x) {
  emit_call(f, x, make_process_kernel(x, f.program.processes));
}

void emit_reference(FunctionEmitter& f, const hlo::Instruction& x) {
  emit_call(f, x, make_reference_kernel(x), hlo::captures(x));
}

}  // namespace systole::cpu
