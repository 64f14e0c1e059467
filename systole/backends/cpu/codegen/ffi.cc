#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/runtime/ffi/ffi_call.h"

namespace systole::cpu {
namespace {

class FfiKernel : public Kernel {
 public:
  explicit FfiKernel(const hlo::Instruction& x) : call_(x) {}
  void run(std::span<void* const> buffers, RunContext&) const override { call_.run(buffers); }

 private:
  const runtime::FfiCall call_;
};

}  // namespace

void emit_ffi(FunctionEmitter& f, const hlo::Instruction& x) {
  std::vector<llvm::Value*> buffers;
  for (const hlo::Value& operand : x.operands()) buffers.push_back(f.address(f.slice(operand)));
  for (const Slice& result : f.result_slices(x)) buffers.push_back(f.address(result));
  f.call_kernel(std::make_unique<FfiKernel>(x), buffers);
}

}  // namespace systole::cpu
