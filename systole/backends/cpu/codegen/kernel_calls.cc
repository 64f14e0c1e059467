#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/hlo/analysis/queries.h"

namespace systole::cpu {
namespace {

void emit_call(FunctionEmitter& f, const hlo::Instruction& x, KernelKind kind,
               std::span<const hlo::Value> captured = {}) {
  std::vector<llvm::Value*> buffers;
  for (const hlo::Value& operand : x.operands()) buffers.push_back(f.address(f.slice(operand)));
  for (const hlo::Value& value : captured) buffers.push_back(f.address(f.slice(value)));
  for (const Slice& result : f.result_slices(x)) buffers.push_back(f.address(result));
  f.call_kernel({kind, &x}, buffers);
}

}  // namespace

void emit_ffi(FunctionEmitter& f, const hlo::Instruction& x) {
  emit_call(f, x, KernelKind::foreign);
}

void emit_fft(FunctionEmitter& f, const hlo::Instruction& x) { emit_call(f, x, KernelKind::fft); }

void emit_lapack(FunctionEmitter& f, const hlo::Instruction& x) {
  emit_call(f, x, KernelKind::lapack);
}

void emit_processes(FunctionEmitter& f, const hlo::Instruction& x) {
  emit_call(f, x, KernelKind::process);
}

void emit_reference(FunctionEmitter& f, const hlo::Instruction& x) {
  emit_call(f, x, KernelKind::reference, hlo::captures(x));
}

}  // namespace systole::cpu
