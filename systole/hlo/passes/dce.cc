#include "systole/hlo/passes/dce.h"

#include <algorithm>
#include <unordered_set>

#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/ir/callees.h"

namespace systole::hlo {
namespace {

using Mask = std::vector<bool>;

bool all(const Mask& mask) { return std::ranges::find(mask, false) == mask.end(); }

template <class T>
std::vector<T> selected(std::span<const T> values, const Mask& mask) {
  std::vector<T> result;
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask[i]) result.push_back(values[i]);
  }
  return result;
}

Mask used_results(const Instruction& instruction) {
  Mask used(instruction.results().size(), false);
  for (const Instruction* user : instruction.users()) {
    for (const Value& operand : user->operands()) {
      if (operand.def == &instruction) used[operand.index] = true;
    }
  }
  return used;
}

// Returns the parameters of `region` on which the values depend. Pinned instructions and those with
// effects are kept, so they count as used.
class Dependencies {
 public:
  explicit Dependencies(const Computation& region) : region_(region) {
    for (const Instruction* instruction : region.instructions()) {
      if (instruction->is(Opcode::parameter) || instruction == region.terminator()) continue;
      if (!is_pure(*instruction)) require(*instruction);
    }
  }

  void require(Value value) {
    if (&value.def->parent() == &region_) require(*value.def);
  }

  bool on_parameter(int i) const { return seen_.contains(region_.parameter(i).def); }

 private:
  void require(const Instruction& instruction) {
    std::vector<const Instruction*> stack{&instruction};
    while (!stack.empty()) {
      const Instruction* next = stack.back();
      stack.pop_back();
      if (!seen_.insert(next).second) continue;
      for (const Value& operand : next->operands()) push(operand, stack);
      for (const Value& captured : captures(*next)) push(captured, stack);
    }
  }

  void push(Value value, std::vector<const Instruction*>& stack) const {
    if (&value.def->parent() == &region_) stack.push_back(value.def);
  }

  const Computation& region_;
  std::unordered_set<const Instruction*> seen_;
};

// Returns the carried values to keep: those whose result is used, those that the condition reads,
// and those on which the body's results for these depend.
Mask live_carried(const Instruction& loop) {
  Mask live = used_results(loop);
  Dependencies cond(loop.region(0));
  cond.require(loop.region(0).results()[0]);
  for (int i = 0; i < loop.num_results(); ++i) {
    if (cond.on_parameter(i)) live[i] = true;
  }
  const Computation& body = loop.region(1);
  Dependencies needed(body);
  bool grows = true;
  while (grows) {
    grows = false;
    for (int i = 0; i < loop.num_results(); ++i) {
      if (live[i]) needed.require(body.results()[i]);
    }
    for (int i = 0; i < loop.num_results(); ++i) {
      const auto at = static_cast<size_t>(i);
      if (live[at] || !needed.on_parameter(i)) continue;
      live[at] = true;
      grows = true;
    }
  }
  return live;
}

class DeadCodeEliminator {
 public:
  explicit DeadCodeEliminator(Module& module) : module_(module) {}

  bool run() {
    if (module_.find_function("main") != nullptr) erase_unreached_functions();
    for (const auto& function : module_.functions()) visit(*function);
    return changed_;
  }

 private:
  // Backwards, so that users are visited before their operands.
  void visit(Computation& computation) {
    std::vector<Instruction*> program = computation.instructions();
    std::ranges::reverse(program);
    for (Instruction* instruction : program) {
      if (is_dead(*instruction)) {
        computation.erase(instruction);
        changed_ = true;
        continue;
      }
      instruction = shrink(*instruction);
      for (const auto& region : instruction->regions()) visit(*region);
    }
  }

  Instruction* shrink(Instruction& instruction) {
    if (instruction.is(Opcode::while_)) return shrink_loop(instruction);
    if (instruction.is(Opcode::if_) || instruction.is(Opcode::case_)) {
      return shrink_branches(instruction);
    }
    return &instruction;
  }

  Instruction* shrink_loop(Instruction& loop) {
    const Mask live = live_carried(loop);
    // An endless loop stays though nobody reads its results.
    if (all(live) || std::ranges::find(live, true) == live.end()) return &loop;
    Computation& body = loop.region(1);
    body.set_results(selected(body.results(), live));
    for (const auto& region : loop.regions()) {
      visit(*region);
      for (int i = loop.num_results() - 1; i >= 0; --i) {
        if (!live[i]) region->erase_parameter(i);
      }
    }
    return rebuild(loop, selected(loop.operands(), live), live);
  }

  Instruction* shrink_branches(Instruction& branches) {
    const Mask live = used_results(branches);
    if (all(live)) return &branches;
    for (const auto& region : branches.regions()) {
      region->set_results(selected(region->results(), live));
      visit(*region);
    }
    return rebuild(branches, {branches.operands().begin(), branches.operands().end()}, live);
  }

  // The instruction with fewer results; its regions have been reduced to them.
  Instruction* rebuild(Instruction& old, std::vector<Value> operands, const Mask& live) {
    changed_ = true;
    Instruction* fresh = old.parent().insert(old.opcode(), std::move(operands),
                                             selected(old.results(), live), old.attrs(), &old);
    fresh->set_metadata(old.metadata());
    ValueMap map;
    for (const auto& region : old.regions()) fresh->add_region().clone_from(*region, map);
    int next = 0;
    for (int i = 0; i < old.num_results(); ++i) {
      if (live[i]) {
        Computation::replace_all_uses(old.result(i), fresh->result(next++));
      }
    }
    old.parent().erase(&old);
    return fresh;
  }

  void erase_unreached_functions() {
    const std::unordered_set<const Computation*> reached = reached_from(module_.entry());
    std::unordered_set<const Computation*> unreached;
    for (const auto& function : module_.functions()) {
      if (!reached.contains(function.get())) unreached.insert(function.get());
    }
    if (unreached.empty()) return;
    module_.erase_functions(unreached);
    changed_ = true;
  }

  Module& module_;
  bool changed_ = false;
};

}  // namespace

bool DeadCodeElimination::run(Module& module) { return DeadCodeEliminator(module).run(); }

}  // namespace systole::hlo
