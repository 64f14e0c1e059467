#include "systole/hlo/passes/pipeline.h"

#include "systole/hlo/passes/algebraic_simplifier.h"
#include "systole/hlo/passes/constant_folding.h"
#include "systole/hlo/passes/cse.h"
#include "systole/hlo/passes/dce.h"
#include "systole/hlo/passes/dedupe_loop_state.h"
#include "systole/hlo/passes/forward_loop_slices.h"
#include "systole/hlo/passes/inline_calls.h"
#include "systole/hlo/passes/loop_invariant_code_motion.h"
#include "systole/hlo/passes/recompute_loop_residuals.h"
#include "systole/hlo/passes/reuse_forward_residuals.h"
#include "systole/hlo/passes/sink_loop_accumulations.h"

namespace systole::hlo {
namespace {

std::unique_ptr<Pipeline> simplification(const PipelineOptions& options) {
  auto simplify = std::make_unique<Pipeline>("simplify", options);
  // Rules bring constants together.
  simplify->add<AlgebraicSimplifier>();
  // Computes new constants, so that more rules match in the next round.
  simplify->add<ConstantFolding>();
  // Rules compare operands by identity, so equal values must be one value. Gradients recompute much
  // of the forward pass.
  simplify->add<CommonSubexpressionElimination>();
  // Dead users would block rules that require a single user, and cost every pass time.
  simplify->add<DeadCodeElimination>();
  return simplify;
}

}  // namespace

Pipeline optimization_pipeline(const PipelineOptions& options) {
  Pipeline pipeline("optimize", options);
  // All later passes look at one function at a time.
  pipeline.add<InlineCalls>();
  // Lowering produces many unused instructions; removes them before the other passes.
  pipeline.add<DeadCodeElimination>();
  pipeline.add_fixed_point(simplification(options));
  // Runs on the simplified program. Each instruction in a training loop runs once per step.
  pipeline.add<LoopInvariantCodeMotion>();
  // Outputs and states of recurrent cells are carried twice; the next passes see them as one.
  pipeline.add<DedupeLoopState>();
  // Shows the passes after it which rows loops read and write.
  pipeline.add<ForwardLoopSlices>();
  // A loop back through time reads products instead of computing them again.
  pipeline.add<ReuseForwardResiduals>();
  // It computes what is cheap from what it reads besides.
  pipeline.add<RecomputeLoopResiduals>();
  // Merges hoisted values with equal ones outside of loops; loops then carry less.
  pipeline.add_fixed_point(simplification(options));
  // Weight gradients of all steps are one product. Uses the stacks that loops have; the rules above
  // make their rows plain.
  pipeline.add<SinkLoopAccumulations>();
  // Removes the sums inside of loops.
  pipeline.add<DeadCodeElimination>();
  return pipeline;
}

void optimize(Module& module, const PipelineOptions& options) {
  optimization_pipeline(options).run(module);
}

}  // namespace systole::hlo
