#include "systole/backends/cpu/analysis/attention_fusion.h"

#include "systole/backends/cpu/analysis/attention_gradient.h"
#include "systole/backends/cpu/codegen/thunks.h"

namespace systole::cpu {

void emit_attention_fusion(FunctionEmitter& f, const hlo::Instruction& x) {
  std::vector<llvm::Value*> buffers;
  const auto inputs =
      x.num_results() == 1 ? fused_attention(x).inputs : fused_attention_gradient(x).inputs;
  for (const hlo::Value& input : inputs) {
    const int64_t number = input.def->attrs<hlo::ParameterAttrs>().index;
    buffers.push_back(f.address(f.slice(x.operand(static_cast<int>(number)))));
  }
  for (const Slice& result : f.result_slices(x)) buffers.push_back(f.address(result));
  f.call_kernel({KernelKind::attention, &x}, buffers);
}

}  // namespace systole::cpu
