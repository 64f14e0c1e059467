#include "systole/backends/cpu/passes/pipeline.h"

#include "systole/backends/cpu/passes/bf16_products.h"
#include "systole/backends/cpu/passes/row_fusion.h"
#include "systole/backends/cpu/passes/thin_dots.h"
#include "systole/hlo/passes/dce.h"
#include "systole/hlo/passes/fusion.h"
#include "systole/hlo/passes/inline_calls.h"
#include "systole/hlo/passes/pipeline.h"

namespace systole::cpu {
namespace {

constexpr int64_t kCacheBytes = 16 * 1024;

bool keeps_minor_axis(const hlo::Instruction& transpose) {
  const Dims& permutation = transpose.attrs<hlo::TransposeAttrs>().permutation;
  return permutation.empty() || permutation.back() == transpose.shape().rank() - 1;
}

// A large transposition walks through memory across its lines: alone it can be done in blocks.
bool inside(const hlo::Instruction& x) {
  if (x.is(hlo::Opcode::transpose))
    return keeps_minor_axis(x) || x.type().byte_size() <= kCacheBytes;
  return hlo::FusionOptions::defaults().inside(x);
}

}  // namespace

void run_passes(hlo::Module& module, const runtime::CompileOptions& options) {
  if (options.optimize) hlo::optimize(module);
  hlo::Pipeline pipeline("cpu");
  // Code is generated for one function.
  pipeline.add<hlo::InlineCalls>();
  if (options.bf16_products) pipeline.add<Bf16Products>();
  if (options.optimize) {
    // What a product over one element becomes can be fused with what follows, an optimizer's update
    // often.
    pipeline.add<ThinDots>();
    hlo::FusionOptions fusion = hlo::FusionOptions::defaults();
    fusion.inside = inside;
    pipeline.add<hlo::FusionPass>(fusion);
    // What is left to go through memory between fusions can stay in a cache, row by row.
    pipeline.add<RowFusionPass>();
    // Copies that fusion made, and what it left behind.
    pipeline.add<hlo::DeadCodeElimination>();
  }
  pipeline.run(module);
}

}  // namespace systole::cpu
