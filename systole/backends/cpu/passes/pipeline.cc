#include "systole/backends/cpu/passes/pipeline.h"

#include "systole/backends/cpu/passes/all_reduces.h"
#include "systole/backends/cpu/passes/attention_fusion.h"
#include "systole/backends/cpu/passes/canonicalize_convolutions.h"
#include "systole/backends/cpu/passes/change_op_data_type.h"
#include "systole/backends/cpu/passes/dot_strength_reduction.h"
#include "systole/backends/cpu/passes/epilogue_fusion.h"
#include "systole/backends/cpu/passes/move_transposes.h"
#include "systole/backends/cpu/passes/recompute_elements.h"
#include "systole/backends/cpu/passes/row_fusion.h"
#include "systole/backends/cpu/passes/row_updates.h"
#include "systole/backends/cpu/passes/update_fusion.h"
#include "systole/hlo/ir/budget.h"
#include "systole/hlo/passes/cse.h"
#include "systole/hlo/passes/dce.h"
#include "systole/hlo/passes/fusion.h"
#include "systole/hlo/passes/inline_calls.h"
#include "systole/hlo/passes/pipeline.h"
#include "systole/hlo/passes/replicas/vectorize_replicas.h"
#include "systole/runtime/process_group.h"

namespace systole::cpu {
namespace {

constexpr int64_t kFirstLevelCacheBytes = 16 * 1024;
// A GELU by the error function is one loop: two would exchange five arrays.
constexpr int kMaxLoopCode = 160;

bool keeps_minor_axis(const hlo::Instruction& transpose) {
  const Dims& permutation = transpose.attrs<hlo::TransposeAttrs>().permutation;
  return permutation.empty() || permutation.back() == transpose.shape().rank() - 1;
}

hlo::FusionOptions fusion_options(
    const std::function<bool(const hlo::Instruction&)>& has_native_code) {
  hlo::FusionOptions options = hlo::FusionOptions::defaults();
  options.max_code = kMaxLoopCode;
  // A large transposition walks through memory across its lines: alone it can be done in blocks.
  options.inside = [=, inside = options.inside](const hlo::Instruction& x) {
    if (!has_native_code(x)) return false;
    if (x.is(hlo::Opcode::transpose))
      return keeps_minor_axis(x) || x.type().byte_size() <= kFirstLevelCacheBytes;
    return inside(x);
  };
  options.at_end = [=, at_end = options.at_end](const hlo::Instruction& x) {
    return at_end(x) && has_native_code(x);
  };
  return options;
}

}  // namespace

std::unique_ptr<hlo::Module> on_all_replicas(const hlo::Module& module,
                                             const runtime::CompileOptions& options, bool in_turn) {
  auto copy = module.clone();
  copy->budget = std::make_shared<hlo::Budget>(*copy);
  const runtime::ProcessGroup* const processes = options.processes;
  const bool alone = options.num_replicas == 1 && (processes == nullptr || processes->size() == 1);
  if (alone && !hlo::uses_replicas(*copy)) return copy;
  // What is the same on all replicas is easier to see in the small program.
  if (options.optimize && !alone) {
    hlo::optimize(*copy);
  } else {
    hlo::InlineCalls().run(*copy);
  }
  hlo::ReplicaOptions replicas{.num_replicas = options.num_replicas,
                               .in_turn = in_turn,
                               .replicated_parameters = options.replicated_parameters};
  if (processes != nullptr) {
    replicas.processes = hlo::ProcessSpan{.count = processes->size(), .index = processes->rank()};
  }
  copy->budget->start_pass("vectorize_replicas");
  return hlo::vectorize_replicas(*copy, replicas).module;
}

void run_passes(hlo::Module& module, const runtime::CompileOptions& options,
                const std::function<bool(const hlo::Instruction&)>& has_native_code) {
  if (options.optimize) hlo::optimize(module);
  hlo::Pipeline pipeline("cpu");
  // Code is generated for one function.
  pipeline.add<hlo::InlineCalls>();
  if (options.processes != nullptr) pipeline.add<AllReduceCombiner>(*options.processes);
  if (options.program.bf16_products) pipeline.add<Bf16Products>();
  if (options.optimize) {
    // oneDNN emulates the 16-bit products that the host lacks, several times slower than it does
    // those of f32.
    pipeline.add<ChangeOpDataType>();
    // The copies that it makes can be fused with what they copy.
    pipeline.add<CanonicalizeConvolutions>();
    // What a product over one element becomes can be fused with what follows, an optimizer's update
    // often.
    pipeline.add<DotStrengthReduction>();
    // Makes the gradient of an embedding rows, before fusion makes one loop of its update.
    pipeline.add<RowUpdates>();
    // What is left of the transposes can be fused, and equal ones are one.
    pipeline.add<MoveTransposes>();
    pipeline.add<hlo::CommonSubexpressionElimination>();
    // Before other fusions take its parts.
    pipeline.add<AttentionFusion>();
    // What a gradient computes again while it reads other arrays does not take memory until then.
    pipeline.add<RecomputeElements>();
    pipeline.add<hlo::DeadCodeElimination>();
    // A kernel applies what follows its product while that is in a cache.
    pipeline.add<EpilogueFusion>();
    pipeline.add<hlo::FusionPass>(fusion_options(has_native_code));
    // What is left to go through memory between fusions can stay in a cache, row by row.
    pipeline.add<RowFusionPass>(has_native_code);
    // What is left to write parts of arrays, rows of stacks often, can write them where they
    // belong.
    pipeline.add<UpdateFusion>();
    // Removes copies that fusion made, and instructions that it left unused.
    pipeline.add<hlo::DeadCodeElimination>();
    if (options.processes != nullptr) pipeline.add<AllReduceScheduler>();
  }
  pipeline.run(module);
}

}  // namespace systole::cpu
