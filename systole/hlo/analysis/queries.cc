#include "systole/hlo/analysis/queries.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "systole/hlo/analysis/match.h"
#include "systole/hlo/ir/callees.h"
#include "systole/hlo/ir/placement.h"

namespace systole::hlo {
namespace {

// The functions that an instruction calls, each of which is looked at once.
struct Called {
  std::unordered_set<const Computation*> known;
  std::vector<const Computation*> waiting;
};

bool is_pure_itself(const Instruction& instruction, Called& called);

bool is_pure(const Computation& computation, Called& called) {
  for (const Instruction* nested : computation.instructions()) {
    const bool structure = nested->is(Opcode::parameter) || nested == computation.terminator();
    if (!structure && !is_pure_itself(*nested, called)) return false;
  }
  return true;
}

// The index of a parameter of the region; -1 for another value.
int parameter_of(Value value, const Computation& region) {
  if (!value.def->is(Opcode::parameter) || &value.def->parent() != &region) return -1;
  return value.def->attrs<ParameterAttrs>().index;
}

// Returns whether an operand of the loop's condition has the same value in all iterations.
bool is_invariant(Value value, const Instruction& loop) {
  if (&value.def->parent() != &loop.region(0) || value.def->is(Opcode::constant)) return true;
  const int i = parameter_of(value, loop.region(0));
  if (i < 0) return false;
  return loop.region(1).results()[i] == loop.region(1).parameter(i);
}

// Returns the constant that each iteration adds to an operand of the loop's condition; 0 if it adds
// none.
double step_of(Value value, const Instruction& loop) {
  const int i = parameter_of(value, loop.region(0));
  if (i < 0 || !is_integer(value.type().dtype)) return 0;
  const Instruction& next = *loop.region(1).results()[i].def;
  const bool adds = next.is(Opcode::add);
  if (!adds && !next.is(Opcode::subtract)) return 0;
  Value base = next.operand(0);
  Value step = next.operand(1);
  if (adds && step == loop.region(1).parameter(i)) std::swap(base, step);
  const Tensor* const number = constant_of(step);
  if (base != loop.region(1).parameter(i) || number == nullptr || number->num_elements() != 1) {
    return 0;
  }
  return adds ? number->as_double(0) : -number->as_double(0);
}

// Returns whether one part of a condition is sure to become false: it is the constant false, or it
// compares a counter with a bound that each iteration brings closer. Ignores overflow of the
// counter.
bool part_becomes_false(const Instruction& def, const Instruction& loop) {
  if (def.is(Opcode::constant)) return !def.attrs<ConstantAttrs>().value.item<bool>();
  if (!def.is(Opcode::compare)) return false;
  const ComparisonDirection direction = def.attrs<CompareAttrs>().direction;
  double step = step_of(def.operand(0), loop);
  if (step == 0 || !is_invariant(def.operand(1), loop)) {
    if (!is_invariant(def.operand(0), loop)) return false;
    step = -step_of(def.operand(1), loop);
  }
  using enum ComparisonDirection;
  return direction == lt || direction == le   ? step > 0
         : direction == gt || direction == ge ? step < 0
                                              : false;
}

bool becomes_false(Value condition, const Instruction& loop) {
  // Conditions of more parts than these are as good as unknown.
  constexpr int kMaxParts = 64;
  std::vector<const Instruction*> parts{condition.def};
  for (int seen = 0; !parts.empty() && seen < kMaxParts; ++seen) {
    const Instruction& part = *parts.back();
    parts.pop_back();
    if (part_becomes_false(part, loop)) return true;
    if (!part.is(Opcode::and_)) continue;
    parts.push_back(part.operand(1).def);
    parts.push_back(part.operand(0).def);
  }
  return false;
}

// Such a loop must stay: without it a program that never ends would end.
bool may_be_endless(const Instruction& instruction) {
  return instruction.is(Opcode::while_) &&
         !becomes_false(instruction.region(0).results()[0], instruction);
}

// Adds the functions that must be pure as well to `called`.
bool is_pure_itself(const Instruction& instruction, Called& called) {
  if (may_be_endless(instruction)) return false;
  if (instruction.traits().has(kPinned | kSideEffect | kTerminator)) return false;
  for (const auto& region : instruction.regions()) {
    if (!is_pure(*region, called)) return false;
  }
  const auto* custom_call = std::get_if<CustomCallAttrs>(&instruction.attrs());
  if (custom_call != nullptr) return !custom_call->has_side_effect || is_placement(instruction);
  const Module& module = instruction.parent().module();
  return std::ranges::all_of(callees(instruction.attrs()), [&](const std::string& name) {
    const Computation* callee = module.find_function(name);
    if (callee != nullptr && called.known.insert(callee).second) called.waiting.push_back(callee);
    return callee != nullptr;
  });
}

class CaptureCollector {
 public:
  explicit CaptureCollector(const Instruction& root) : root_(root) {}

  std::vector<Value> collect() {
    visit_regions(root_);
    return std::move(found_);
  }

 private:
  void visit_regions(const Instruction& instruction) {
    for (const auto& region : instruction.regions()) {
      for (const Instruction* nested : region->instructions()) {
        for (const Value& value : nested->operands()) visit(value);
        visit_regions(*nested);
      }
    }
  }

  void visit(Value value) {
    for (const Computation* c = &value.def->parent(); c->owner() != nullptr;
         c = &c->owner()->parent()) {
      if (c->owner() == &root_) return;
    }
    if (seen_.insert(value).second) found_.push_back(value);
  }

  const Instruction& root_;
  std::unordered_set<Value, ValueHash> seen_;
  std::vector<Value> found_;
};

}  // namespace

bool is_pure(const Instruction& instruction) {
  Called called;
  if (!is_pure_itself(instruction, called)) return false;
  while (!called.waiting.empty()) {
    const Computation* const next = called.waiting.back();
    called.waiting.pop_back();
    if (!is_pure(*next, called)) return false;
  }
  return true;
}

bool is_contextual(const Instruction& instruction) {
  if (instruction.traits().has(kContextual)) return true;
  return std::ranges::any_of(instruction.regions(), [](const auto& region) {
    return std::ranges::any_of(region->instructions(),
                               [](const Instruction* nested) { return is_contextual(*nested); });
  });
}

bool is_dead(const Instruction& instruction) {
  return instruction.unused() && is_pure(instruction);
}

std::vector<Value> captures(const Instruction& instruction) {
  if (instruction.num_regions() == 0) return {};
  return CaptureCollector(instruction).collect();
}

Instruction* copy_instruction(const Instruction& source, ValueMap& map, Computation& into,
                              Instruction* before) {
  std::vector<Value> operands;
  for (const Value& operand : source.operands()) {
    const auto found = map.find(operand);
    operands.push_back(found == map.end() ? operand : found->second);
  }
  Instruction* copy =
      into.insert(source.opcode(), std::move(operands),
                  {source.results().begin(), source.results().end()}, source.attrs(), before);
  copy->set_metadata(source.metadata());
  for (const auto& region : source.regions()) copy->add_region().clone_from(*region, map);
  for (int i = 0; i < source.num_results(); ++i) {
    map[{const_cast<Instruction*>(&source), i}] = copy->result(i);
  }
  return copy;
}

void replace_and_erase(Instruction& instruction, std::span<const Value> values) {
  for (int i = 0; i < instruction.num_results(); ++i) {
    Computation::replace_all_uses(instruction.result(i), values[i]);
  }
  instruction.parent().erase(&instruction);
}

}  // namespace systole::hlo
