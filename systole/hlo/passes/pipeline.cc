#include "systole/hlo/passes/pipeline.h"

#include "systole/hlo/passes/algebraic_simplifier.h"
#include "systole/hlo/passes/constant_folding.h"
#include "systole/hlo/passes/cse.h"
#include "systole/hlo/passes/dce.h"
#include "systole/hlo/passes/inline_calls.h"
#include "systole/hlo/passes/loop_invariant_code_motion.h"

namespace systole::hlo {
namespace {

std::unique_ptr<Pipeline> simplification(const PipelineOptions& options) {
  auto simplify = std::make_unique<Pipeline>("simplify", options);
  // Rules see the whole program, and bring constants together.
  simplify->add<AlgebraicSimplifier>();
  // What has become constant is computed now, and lets more rules match in the next round.
  simplify->add<ConstantFolding>();
  // Rules compare operands by identity: equal values have to be one value. Gradients compute much
  // of the forward pass again.
  simplify->add<CommonSubexpressionElimination>();
  // Rules that ask for a single user must not count dead ones; and a dead instruction costs every
  // pass its time.
  simplify->add<DeadCodeElimination>();
  return simplify;
}

}  // namespace

Pipeline optimization_pipeline(const PipelineOptions& options) {
  Pipeline pipeline("optimize", options);
  // Everything behind looks at one function at a time.
  pipeline.add<InlineCalls>();
  // A program as it is lowered holds much that no one asked for; the passes behind are spared it.
  pipeline.add<DeadCodeElimination>();
  pipeline.add_fixed_point(simplification(options));
  // On the small program: each instruction inside a training loop runs once a step.
  pipeline.add<LoopInvariantCodeMotion>();
  // Values that have left a loop meet their equals outside of it, and loops carry less.
  pipeline.add_fixed_point(simplification(options));
  return pipeline;
}

void optimize(Module& module, const PipelineOptions& options) {
  optimization_pipeline(options).run(module);
}

}  // namespace systole::hlo
