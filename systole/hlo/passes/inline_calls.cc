#include "systole/hlo/passes/inline_calls.h"

#include <unordered_set>

#include "systole/hlo/ir/budget.h"
#include "systole/hlo/ir/callees.h"
#include "systole/hlo/passes/analysis.h"

namespace systole::hlo {
namespace {

bool stands_for_its_callee(const Instruction& instruction) {
  return instruction.is(Opcode::call) || instruction.is(Opcode::composite);
}

bool inline_calls_of(Computation& computation,
                     const std::unordered_set<const Computation*>& finished) {
  bool changed = false;
  for (Instruction* instruction : computation.instructions()) {
    for (const auto& region : instruction->regions()) {
      changed |= inline_calls_of(*region, finished);
    }
    if (!stands_for_its_callee(*instruction)) continue;
    const Module& module = computation.module();
    const Computation* callee = module.find_function(callees(instruction->attrs())[0]);
    if (callee == nullptr || !finished.contains(callee)) continue;
    ValueMap map;
    for (int i = 0; i < callee->num_parameters(); ++i) {
      map[callee->parameter(i)] = instruction->operand(i);
    }
    replace_and_erase(*instruction, computation.inline_from(*callee, map, instruction));
    changed = true;
  }
  return changed;
}

}  // namespace

bool InlineCalls::run(Module& module) {
  const BudgetScope budget(module, name());
  bool changed = false;
  // Callees first, so that copies contain no calls.
  std::unordered_set<const Computation*> finished;
  for (Computation* function : callees_first(module)) {
    changed |= inline_calls_of(*function, finished);
    finished.insert(function);
  }
  return changed;
}

}  // namespace systole::hlo
