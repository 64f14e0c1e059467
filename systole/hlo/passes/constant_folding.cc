#include "systole/hlo/passes/constant_folding.h"

#include <algorithm>

#include "systole/hlo/analysis/match.h"
#include "systole/hlo/analysis/partial_evaluation.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/ir/budget.h"
#include "systole/hlo/ir/builder.h"

namespace systole::hlo {
namespace {

// The maximum number of instructions evaluated for a folded loop.
constexpr int kMaxLoopSteps = 256;

std::vector<Tensor> known_operands(const Instruction& instruction) {
  std::vector<Tensor> operands;
  for (const Value& operand : instruction.operands()) operands.push_back(known_value(operand));
  return operands;
}

std::vector<Tensor> fold_loop(const Instruction& loop) {
  const Computation& cond = loop.region(0);
  const Computation& body = loop.region(1);
  const int steps = cond.num_instructions() + body.num_instructions();
  std::vector<Tensor> state = known_operands(loop);
  for (int done = 0; done <= kMaxLoopSteps; done += steps) {
    if (!std::ranges::all_of(state, &Tensor::valid)) return {};
    const Tensor goes_on = partially_evaluate(cond, state)[0];
    if (!goes_on.valid()) return {};
    if (!goes_on.item<bool>()) return state;
    state = partially_evaluate(body, state);
  }
  return {};
}

bool wants_folding(const Instruction& instruction) {
  if (instruction.num_operands() == 0 || !is_pure(instruction)) return false;
  if (!std::ranges::all_of(instruction.operands(), is_known)) return false;
  const bool on_elements = instruction.traits().has(kElementwise | kIndexed);
  const auto is_constant = [](const Value& value) { return constant_of(value) != nullptr; };
  if (on_elements && std::ranges::none_of(instruction.operands(), is_constant)) return false;
  // One that permutes only is as good as a transpose.
  return !instruction.is(Opcode::broadcast_in_dim) ||
         instruction.shape().num_elements() == instruction.operand(0).shape().num_elements();
}

std::vector<Tensor> fold(const Instruction& instruction) {
  if (!wants_folding(instruction)) return {};
  if (instruction.is(Opcode::while_)) return fold_loop(instruction);
  const Tensor* constant = constant_of(instruction.operand(0));
  if (instruction.traits().has(kBitcast) && constant != nullptr) {
    return {constant->reshape(instruction.shape())};
  }
  return evaluate_if_cheap(instruction, known_operands(instruction));
}

bool fits_budget(std::span<const Tensor> values, const Module& module) {
  if (module.budget == nullptr) return true;
  int64_t bytes = 0;
  for (const Tensor& value : values) bytes += value.byte_size();
  return module.budget->take_constant(bytes);
}

bool fold_constants(Computation& computation) {
  bool changed = false;
  for (Instruction* instruction : computation.instructions()) {
    for (const auto& region : instruction->regions()) changed |= fold_constants(*region);
    const std::vector<Tensor> values = fold(*instruction);
    if (values.empty() || !fits_budget(values, computation.module())) continue;
    Builder builder(computation, instruction);
    builder.set_metadata(instruction->metadata());
    std::vector<Value> constants;
    constants.reserve(values.size());
    for (const Tensor& value : values) constants.push_back(builder.constant(value));
    replace_and_erase(*instruction, constants);
    changed = true;
  }
  return changed;
}

}  // namespace

bool ConstantFolding::run(Module& module) {
  bool changed = false;
  for (const auto& function : module.functions()) changed |= fold_constants(*function);
  return changed;
}

}  // namespace systole::hlo
