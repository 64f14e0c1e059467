// Branches with a known predicate, and loops that run once or never.
#include "systole/hlo/analysis/match.h"
#include "systole/hlo/analysis/partial_evaluation.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/semantics/index.h"

namespace systole::hlo {
namespace {

Replacement inlined(Instruction& op, const Computation& region, std::span<const Value> arguments) {
  ValueMap map;
  for (int i = 0; i < region.num_parameters(); ++i) {
    map[region.parameter(i)] = arguments[i];
  }
  const std::vector<Value> results = op.parent().inline_from(region, map, &op);
  return {results.begin(), results.end()};
}

Replacement if_constant(Instruction& op, Builder&) {
  const Tensor* pred = constant_of(op.operand(0));
  // Without results it is dead, or has effects and cannot be replaced.
  if (pred == nullptr || op.num_results() == 0) return {};
  return inlined(op, op.region(pred->item<bool>() ? 0 : 1), {});
}

// An index out of range takes the last branch.
Replacement case_constant(Instruction& op, Builder&) {
  const Tensor* index = constant_of(op.operand(0));
  const int last = op.num_regions() - 1;
  if ((index == nullptr && last > 0) || op.num_results() == 0) return {};
  const int64_t wanted = index == nullptr ? 0 : index_values(*index)[0];
  return inlined(op, op.region(wanted >= 0 && wanted < last ? static_cast<int>(wanted) : last), {});
}

// Returns the known values that a loop carries into its first iteration.
std::vector<Tensor> initial_state(const Instruction& loop) {
  std::vector<Tensor> state;
  for (const Value& operand : loop.operands()) {
    // Tensors rarely decide whether a loop continues and are expensive to materialise.
    state.push_back(operand.shape().rank() == 0 ? known_value(operand) : Tensor());
  }
  return state;
}

enum class Answer : uint8_t { no, yes, unknown };

Answer goes_on(const Instruction& loop, std::span<const Tensor> state) {
  const Tensor pred = partially_evaluate(loop.region(0), state)[0];
  if (!pred.valid()) return Answer::unknown;
  return pred.item<bool>() ? Answer::yes : Answer::no;
}

Replacement while_never(Instruction& op, Builder&) {
  // The condition runs once in any case.
  if (op.num_results() == 0 || !is_pure(op)) return {};
  if (goes_on(op, initial_state(op)) != Answer::no) return {};
  return {op.operands().begin(), op.operands().end()};
}

// A loop that runs exactly once becomes its body.
Replacement while_once(Instruction& op, Builder&) {
  if (op.num_results() == 0 || !is_pure(op)) return {};
  std::vector<Tensor> state = initial_state(op);
  if (goes_on(op, state) != Answer::yes) return {};
  state = partially_evaluate(op.region(1), state);
  if (goes_on(op, state) != Answer::no) return {};
  return inlined(op, op.region(1), op.operands());
}

constexpr Rule kControlFlowRulesRules[] = {
    {"if_constant", Opcode::if_, if_constant},
    {"case_constant", Opcode::case_, case_constant},
    {"while_never", Opcode::while_, while_never},
    {"while_once", Opcode::while_, while_once},
};

}  // namespace

std::span<const Rule> control_flow_rules() { return kControlFlowRulesRules; }

}  // namespace systole::hlo
