#include "systole/hlo/passes/replicas/variance.h"

#include <algorithm>

#include "systole/base/error.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/passes/replicas/groups.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::replicas {

Variance::Variance(const Module& module, const std::vector<bool>& varying_parameters,
                   int num_replicas)
    : num_replicas_(num_replicas) {
  if (num_replicas == 1) return;
  const Computation& main = module.entry();
  for (int i = 0; i < main.num_parameters(); ++i) {
    if (varying_parameters[i]) mark(main.parameter(i));
  }
  visit(main);
}

bool Variance::is_uniform(const Instruction& instruction) const {
  const auto* const call = std::get_if<CustomCallAttrs>(&instruction.attrs());
  const bool is_pure_call = call != nullptr && !call->has_side_effect;
  return (is_pure_call || !is_contextual(instruction)) && !any_input(instruction);
}

// Each replica calls it, and may get something else.
bool Variance::calls_apart(const Instruction& instruction) {
  const auto* const call = std::get_if<CustomCallAttrs>(&instruction.attrs());
  const auto is_token = [](const TensorType& type) { return type.dtype == DType::token; };
  return call != nullptr && call->has_side_effect &&
         std::ranges::none_of(instruction.results(), is_token);
}

bool Variance::any_input(const Instruction& instruction) const {
  const auto is_varying = [&](Value value) { return varying(value); };
  return std::ranges::any_of(instruction.operands(), is_varying) ||
         std::ranges::any_of(captures(instruction), is_varying);
}

void Variance::mark_all(Instruction& instruction) {
  for (int i = 0; i < instruction.num_results(); ++i) mark(instruction.result(i));
}

void Variance::visit(const Computation& computation) {
  for (Instruction* instruction : computation.instructions()) visit(*instruction);
}

void Variance::visit(Instruction& instruction) {
  if (instruction.traits().has(kTerminator) || instruction.is(Opcode::parameter)) return;
  if (instruction.is(Opcode::while_)) return visit_loop(instruction);
  if (instruction.is(Opcode::if_) || instruction.is(Opcode::case_)) {
    return visit_branches(instruction);
  }
  if (instruction.is(Opcode::optimization_barrier)) {
    for (int i = 0; i < instruction.num_results(); ++i) {
      if (varying(instruction.operand(i))) mark(instruction.result(i));
    }
    return;
  }
  if (varies(instruction)) mark_all(instruction);
}

bool Variance::varies(const Instruction& instruction) const {
  switch (across_replicas(instruction.opcode())) {
    case AcrossReplicas::by_operands:
      return any_input(instruction) || calls_apart(instruction);
    case AcrossReplicas::apart:
    case AcrossReplicas::one_each:
      return true;
    case AcrossReplicas::one_per_group: {
      const auto* rooted = std::get_if<RootedCollectiveAttrs>(&instruction.attrs());
      const bool has_moving_root = rooted != nullptr && rooted->has_dynamic_root;
      return has_moving_root || !is_one_group(groups_of(instruction, num_replicas_));
    }
    case AcrossReplicas::one_for_all:
      return false;
  }
  throw internal_error("{}: got an unknown property of replicas", instruction.opcode());
}

void Variance::visit_loop(Instruction& loop) {
  const Computation& cond = loop.region(0);
  const Computation& body = loop.region(1);
  std::vector<bool> carried;
  for (const Value& initial : loop.operands()) carried.push_back(varying(initial));
  bool changed = true;
  while (changed) {
    changed = false;
    for (int i = 0; i < loop.num_operands(); ++i) {
      if (!carried[i]) continue;
      mark(cond.parameter(i));
      mark(body.parameter(i));
      mark(loop.result(i));
    }
    visit(cond);
    if (varying(cond.results()[0])) return mark_all(loop);
    visit(body);
    for (size_t i = 0; i < carried.size(); ++i) {
      if (carried[i] || !varying(body.results()[i])) continue;
      carried[i] = true;
      changed = true;
    }
  }
}

void Variance::visit_branches(Instruction& branches) {
  for (const auto& region : branches.regions()) visit(*region);
  if (varying(branches.operand(0))) return mark_all(branches);
  for (const auto& region : branches.regions()) {
    for (int i = 0; i < branches.num_results(); ++i) {
      if (varying(region->results()[i])) mark(branches.result(i));
    }
  }
}

}  // namespace systole::hlo::replicas
