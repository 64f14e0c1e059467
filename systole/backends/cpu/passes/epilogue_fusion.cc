#include "systole/backends/cpu/passes/epilogue_fusion.h"

#include <algorithm>
#include <vector>

#include "systole/backends/cpu/analysis/product_fusion.h"
#include "systole/backends/cpu/passes/rewrite_each.h"
#include "systole/hlo/analysis/queries.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

// The user of all of the value's uses; null if there is none, or another computation uses it.
Instruction* only_user(const Value& value) {
  const auto users = value.def->users();
  if (users.size() != 1 || &users[0]->parent() != &value.def->parent()) return nullptr;
  return users[0];
}

// The steps that follow the product, in order.
std::vector<Instruction*> steps_after(Instruction& product) {
  std::vector<Instruction*> steps;
  Value so_far = product.result();
  while (steps.size() < kMaxEpilogueSteps) {
    Instruction* const user = only_user(so_far);
    if (user == nullptr || !match_step(*user, so_far)) break;
    steps.push_back(user);
    so_far = user->result();
  }
  return steps;
}

// What the step reads besides the value before it: inside of the fusion, a broadcast is repeated.
void copy_with_broadcasts(const Instruction& x, hlo::ValueMap& map, hlo::Computation& region) {
  for (const Value& operand : x.operands()) {
    if (map.contains(operand)) continue;
    copy_with_broadcasts(*operand.def, map, region);
  }
  hlo::copy_instruction(x, map, region, nullptr);
}

void add_once(std::vector<Value>& values, const Value& value) {
  if (std::ranges::find(values, value) == values.end()) values.push_back(value);
}

bool join_steps(Instruction& product) {
  if (!takes_epilogue(product, stays_for_long(product, product.operand(1)))) return false;
  const std::vector<Instruction*> steps = steps_after(product);
  if (steps.empty()) return false;
  std::vector<Value> inputs;
  for (const Value& operand : product.operands()) add_once(inputs, operand);
  Value so_far = product.result();
  for (Instruction* const step : steps) {
    const auto match = match_step(*step, so_far);
    if (match->step.operand != EpilogueStep::Operand::scalar) add_once(inputs, match->operand);
    so_far = step->result();
  }
  hlo::Computation& computation = product.parent();
  Instruction* const fusion =
      computation.insert(Opcode::fusion, inputs, {so_far.type()}, hlo::NoAttrs{}, steps.back());
  fusion->set_metadata(product.metadata());
  hlo::Computation& region = fusion->add_region();
  hlo::ValueMap map;
  for (const Value& input : inputs) map[input] = region.add_parameter(input.type());
  copy_with_broadcasts(*steps.back(), map, region);
  region.set_results({map.at(so_far)});
  hlo::Computation::replace_all_uses(so_far, fusion->result());
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) computation.erase(*step);
  computation.erase(&product);
  return true;
}

}  // namespace

bool EpilogueFusion::run(hlo::Module& module) {
  return rewrite_programs(module, [](hlo::Computation& computation) {
    // (Steps are erased with their product, products alone.)
    std::vector<Instruction*> products = computation.instructions();
    std::erase_if(products, [](const Instruction* x) {
      return !x->is(Opcode::dot_general) && !x->is(Opcode::convolution);
    });
    bool changed = false;
    for (Instruction* const product : products) changed = join_steps(*product) || changed;
    return changed;
  });
}

}  // namespace systole::cpu
