#include "systole/backends/cpu/kernels/sort.h"

#include "systole/backends/cpu/codegen/steps.h"

namespace systole::cpu {

using hlo::Instruction;
using hlo::Value;

void emit_sort(FunctionEmitter& f, const Instruction& x) {
  if (x.shape().num_elements() == 0) return;
  const auto compare = FunctionEmitter::callback(f.program, "compare");
  {
    FunctionEmitter& g = *compare;
    const Step step(x);
    Elements e(g, step);
    const auto pointer = [&](int64_t i) {
      return g.b.CreateLoad(
          g.b.getPtrTy(),
          g.b.CreateConstInBoundsGEP1_64(g.b.getPtrTy(), g.data(), static_cast<uint64_t>(i)));
    };
    std::vector<llvm::Value*> arguments;
    for (int i = 0; i < 2 * x.num_operands(); ++i) {
      arguments.push_back(g.load_from(pointer(i), x.region().parameter(i).dtype(), g.i64(0)));
    }
    llvm::Value* answer = e.call(x.region(), arguments)[0];
    g.store_to(pointer(2 * x.num_operands()), DType::pred, g.i64(0), answer);
    g.finish();
  }
  std::vector<llvm::Value*> buffers = {compare->function, f.frame()};
  for (const Value& operand : x.operands()) buffers.push_back(f.address(f.slice(operand)));
  for (const Slice& result : result_slices(f, x)) buffers.push_back(f.address(result));
  f.call_kernel(make_sort_kernel(x), buffers);
}

}  // namespace systole::cpu
