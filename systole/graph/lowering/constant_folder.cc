#include "systole/graph/lowering/constant_folder.h"

#include <algorithm>

#include "systole/hlo/semantics/evaluator.h"

namespace systole {
namespace {

// True when the region, and those in it, use only values of their own.
bool closed(const hlo::Computation& region, const hlo::Computation& top) {
  for (const hlo::Instruction* instruction : region.instructions()) {
    for (const hlo::Value& operand : instruction->operands()) {
      if (!top.encloses(operand.def->parent())) return false;
    }
    for (const auto& inner : instruction->regions()) {
      if (!closed(*inner, top)) return false;
    }
  }
  return true;
}

bool foldable(const hlo::Instruction& instruction) {
  if (instruction.is(hlo::Opcode::parameter) || instruction.is(hlo::Opcode::call)) return false;
  if (instruction.traits().has(hlo::kPinned | hlo::kSideEffect | hlo::kContextual)) return false;
  return std::ranges::all_of(instruction.regions(),
                             [](const auto& region) { return closed(*region, *region); });
}

}  // namespace

void ConstantFolder::forget() {
  known_.clear();
  varying_.clear();
}

const Tensor* ConstantFolder::find(hlo::Value value) const {
  const auto it = known_.find(value);
  if (it != known_.end()) return &it->second;
  return outer_ == nullptr ? nullptr : outer_->find(value);
}

// False when `value` varies; else `cone` receives what must be evaluated for it, operands first. A
// loop in place of recursion: cones of a long chain are deep.
bool ConstantFolder::constant_cone(hlo::Value value, std::vector<hlo::Instruction*>& cone) {
  struct Visit {
    hlo::Instruction* instruction;
    int next_operand;
  };
  std::unordered_set<const hlo::Instruction*> seen;
  std::vector<Visit> stack;
  const auto enter = [&](hlo::Value v) {
    if (find(v) != nullptr || !seen.insert(v.def).second) return true;
    if (varying_.contains(v.def) || !foldable(*v.def)) return false;
    stack.push_back({v.def, 0});
    return true;
  };
  bool constant = enter(value);
  while (constant && !stack.empty()) {
    Visit& visit = stack.back();
    if (visit.next_operand < visit.instruction->num_operands()) {
      constant = enter(visit.instruction->operand(visit.next_operand++));
    } else {
      cone.push_back(visit.instruction);
      stack.pop_back();
    }
  }
  if (!constant) varying_.insert(value.def);
  return constant;
}

std::optional<Tensor> ConstantFolder::fold(hlo::Value value) {
  std::vector<hlo::Instruction*> cone;
  if (!value || !constant_cone(value, cone)) return std::nullopt;
  for (hlo::Instruction* instruction : cone) {
    std::vector<Tensor> operands;
    for (const hlo::Value& operand : instruction->operands()) operands.push_back(*find(operand));
    std::vector<Tensor> results = hlo::Evaluator().evaluate(*instruction, operands);
    for (int i = 0; i < instruction->num_results(); ++i) {
      known_[instruction->result(i)] = std::move(results[i]);
    }
  }
  return *find(value);
}

}  // namespace systole
