#include "systole/hlo/passes/inline_calls.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/ir/budget.h"
#include "systole/hlo/ir/callees.h"

namespace systole::hlo {
namespace {

bool stands_for_its_callee(const Instruction& instruction) {
  return instruction.is(Opcode::call) || instruction.is(Opcode::composite);
}

void add_calls(const Computation& computation, std::vector<Instruction*>& calls) {
  for (Instruction* instruction : computation.instructions()) {
    if (stands_for_its_callee(*instruction)) calls.push_back(instruction);
    for (const auto& region : instruction->regions()) add_calls(*region, calls);
  }
}

std::string callee_of(const Instruction& call) { return callees(call.attrs())[0]; }

// From the outside in: each body is copied where it ends up, so that functions nested n deep cost
// the size of the result. The other order copies the innermost n times.
class Inliner {
 public:
  explicit Inliner(const Module& module) : module_(module) {}

  bool run(const Computation& function) {
    bool changed = false;
    // Copies of calls without results are not found as they are made.
    for (bool more = true; more; changed |= more) more = expand(function);
    return changed;
  }

 private:
  bool expand(const Computation& function) {
    std::vector<Instruction*> open;
    add_calls(function, open);
    bool changed = false;
    while (!open.empty()) {
      Instruction* const call = open.back();
      open.pop_back();
      const Computation* const callee = module_.find_function(callee_of(*call));
      if (callee == nullptr) continue;
      ValueMap map;
      for (int i = 0; i < callee->num_parameters(); ++i)
        map[callee->parameter(i)] = call->operand(i);
      const std::vector<Value> results = call->parent().inline_from(*callee, map, call);
      for (const Instruction* inner : calls_in(*callee)) {
        if (inner->num_results() > 0)
          open.push_back(map.at(const_cast<Instruction*>(inner)->result(0)).def);
      }
      replace_and_erase(*call, results);
      changed = true;
    }
    return changed;
  }

  const std::vector<Instruction*>& calls_in(const Computation& function) {
    const auto [found, is_new] = calls_.try_emplace(&function);
    if (is_new) add_calls(function, found->second);
    return found->second;
  }

  const Module& module_;
  std::unordered_map<const Computation*, std::vector<Instruction*>> calls_;
};

void note_names(const Module& module, const Computation& computation,
                std::unordered_set<const Computation*>& called,
                std::unordered_set<const Computation*>& named) {
  for (const Instruction* instruction : computation.instructions()) {
    for (const std::string& name : callees(instruction->attrs()))
      (stands_for_its_callee(*instruction) ? called : named).insert(module.find_function(name));
    for (const auto& region : instruction->regions()) note_names(module, *region, called, named);
  }
}

// Main, or in a module without one the functions that nothing calls, and functions that something
// else than calls names. The others are copied into them.
std::vector<Computation*> roots(const Module& module) {
  std::unordered_set<const Computation*> called;
  std::unordered_set<const Computation*> named;
  for (const auto& function : module.functions()) note_names(module, *function, called, named);
  const Computation* const main = module.find_function("main");
  std::vector<Computation*> result;
  for (const auto& function : module.functions()) {
    const bool first = main == nullptr ? !called.contains(function.get()) : function.get() == main;
    if (first || named.contains(function.get())) result.push_back(function.get());
  }
  return result;
}

}  // namespace

bool InlineCalls::run(Module& module) {
  const BudgetScope budget(module, name());
  bool changed = false;
  if (find_recursion(module) != nullptr) return false;
  Inliner inliner(module);
  for (const Computation* function : roots(module)) changed |= inliner.run(*function);
  return changed;
}

}  // namespace systole::hlo
