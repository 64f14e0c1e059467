#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/backends/cpu/kernels/fft.h"
#include "systole/backends/cpu/kernels/lapack.h"
#include "systole/backends/cpu/kernels/processes.h"
#include "systole/backends/cpu/kernels/reference.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/runtime/ffi/ffi_call.h"

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

class FfiKernel : public Kernel {
 public:
  explicit FfiKernel(const hlo::Instruction& x) : call_(x) {}
  void run(std::span<void* const> buffers, RunContext&) const override { call_.run(buffers); }

 private:
  const runtime::FfiCall call_;
};

}  // namespace

void emit_ffi(FunctionEmitter& f, const hlo::Instruction& x) {
  emit_call(f, x, std::make_unique<FfiKernel>(x));
}

void emit_fft(FunctionEmitter& f, const hlo::Instruction& x) {
  emit_call(f, x, make_fft_kernel(x));
}

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
