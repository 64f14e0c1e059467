#include "systole/hlo/passes/analysis.h"

#include <algorithm>
#include <unordered_set>

#include "systole/hlo/ir/callees.h"
#include "systole/hlo/ir/placement.h"

namespace systole::hlo {
namespace {

// Longer chains of calls are treated as recursion.
constexpr int kMaxCallDepth = 64;

bool is_pure(const Instruction& instruction, int calls);

bool is_pure(const Computation& computation, int calls) {
  for (const Instruction* nested : computation.instructions()) {
    const bool structure = nested->is(Opcode::parameter) || nested == computation.terminator();
    if (!structure && !is_pure(*nested, calls)) return false;
  }
  return true;
}

// A loop whose condition is the constant true never ends: without it the program would.
bool is_endless(const Instruction& instruction) {
  if (!instruction.is(Opcode::while_)) return false;
  const Instruction* condition = instruction.region(0).results()[0].def;
  return condition->is(Opcode::constant) && condition->attrs<ConstantAttrs>().value.item<bool>();
}

bool is_pure(const Instruction& instruction, int calls) {
  if (is_endless(instruction)) return false;
  if (instruction.traits().has(kPinned | kSideEffect | kTerminator)) return false;
  for (const auto& region : instruction.regions()) {
    if (!is_pure(*region, calls)) return false;
  }
  const auto* custom_call = std::get_if<CustomCallAttrs>(&instruction.attrs());
  if (custom_call != nullptr) return !custom_call->has_side_effect || is_placement(instruction);
  const Module& module = instruction.parent().module();
  return std::ranges::all_of(callees(instruction.attrs()), [&](const std::string& name) {
    const Computation* callee = module.find_function(name);
    return callee != nullptr && calls < kMaxCallDepth && is_pure(*callee, calls + 1);
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

bool is_pure(const Instruction& instruction) { return is_pure(instruction, 0); }

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
    Computation::replace_all_uses(instruction.result(i), values[static_cast<size_t>(i)]);
  }
  instruction.parent().erase(&instruction);
}

}  // namespace systole::hlo
