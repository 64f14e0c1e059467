#include "systole/backends/cpu/kernels/rng.h"

#include "systole/backends/cpu/codegen/steps.h"

namespace systole::cpu {

void emit_rng_bit_generator(FunctionEmitter& f, const hlo::Instruction& x) {
  const std::vector<Slice> results = result_slices(f, x);
  f.call_kernel(make_rng_kernel(x),
                {f.address(f.slice(x.operand(0))), f.address(results[0]), f.address(results[1])});
}

}  // namespace systole::cpu
