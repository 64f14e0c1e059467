#include "systole/tpu_v1/compiler/unroll_loops.h"

#include <algorithm>

#include "systole/hlo/analysis/counted_loop.h"
#include "systole/hlo/ir/budget.h"
#include "systole/hlo/semantics/quantized.h"

namespace systole::tpu_v1 {
namespace {

bool contains_quantized(const hlo::Computation& computation) {
  return std::ranges::any_of(computation.instructions(), [](const hlo::Instruction* op) {
    return (!op->is(hlo::Opcode::return_) && hlo::is_quantized(*op)) ||
           std::ranges::any_of(op->regions(),
                               [](const auto& region) { return contains_quantized(*region); });
  });
}

void unroll(hlo::Computation& main, hlo::Instruction& loop, int64_t steps) {
  const hlo::Computation& body = loop.region(1);
  std::vector<hlo::Value> carried(loop.operands().begin(), loop.operands().end());
  for (int64_t step = 0; step < steps; ++step) {
    hlo::ValueMap map;
    for (int i = 0; i < body.num_parameters(); ++i) map[body.parameter(i)] = carried[i];
    carried = main.inline_from(body, map, &loop);
  }
  for (int i = 0; i < loop.num_results(); ++i)
    hlo::Computation::replace_all_uses(loop.result(i), carried[i]);
  main.erase(&loop);
}

}  // namespace

bool unroll_loops(hlo::Module& module) {
  const hlo::BudgetScope budget(module, "unroll_loops");
  bool changed = false;
  hlo::Computation& main = module.entry();
  for (hlo::Instruction* op : main.instructions()) {
    if (!op->is(hlo::Opcode::while_) || !contains_quantized(op->region(1))) continue;
    const auto steps = hlo::LoopCounters(*op).trips();
    if (!steps.has_value() || *steps > kMaxSteps) continue;
    unroll(main, *op, *steps);
    changed = true;
  }
  return changed;
}

}  // namespace systole::tpu_v1
