#include "systole/hlo/passes/inline_calls.h"

#include <unordered_set>

#include "systole/hlo/ir/callees.h"
#include "systole/hlo/passes/analysis.h"

namespace systole::hlo {
namespace {

class Inliner {
 public:
  explicit Inliner(Module& module) : module_(module) {}

  bool run() {
    for (const auto& function : module_.functions()) visit_function(*function);
    return changed_;
  }

 private:
  // Visits a callee before copying its body, so that copies contain no calls.
  void visit_function(Computation& function) {
    if (!started_.insert(&function).second) return;
    visit(function);
    finished_.insert(&function);
  }

  void visit(Computation& computation) {
    for (Instruction* instruction : computation.instructions()) {
      for (const auto& region : instruction->regions()) visit(*region);
      const bool stands_for_its_callee =
          instruction->is(Opcode::call) || instruction->is(Opcode::composite);
      if (stands_for_its_callee) inline_call(*instruction);
    }
  }

  void inline_call(Instruction& call) {
    Computation* callee = module_.find_function(callees(call.attrs())[0]);
    if (callee == nullptr) return;
    visit_function(*callee);
    if (!finished_.contains(callee)) return;
    ValueMap map;
    for (int i = 0; i < callee->num_parameters(); ++i) map[callee->parameter(i)] = call.operand(i);
    replace_and_erase(call, call.parent().inline_from(*callee, map, &call));
    changed_ = true;
  }

  Module& module_;
  std::unordered_set<const Computation*> started_;
  std::unordered_set<const Computation*> finished_;
  bool changed_ = false;
};

}  // namespace

bool InlineCalls::run(Module& module) { return Inliner(module).run(); }

}  // namespace systole::hlo
