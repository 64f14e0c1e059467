#include <deque>
#include <unordered_set>

#include "systole/base/error.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/passes/algebraic_simplifier/rule.h"

namespace systole::hlo {
namespace {

class Rewriter {
 public:
  explicit Rewriter(const RuleIndex& rules) : rules_(rules) {}

  RewriteReport run(Module& module) {
    for (const auto& function : module.functions()) discover(*function);
    const size_t limit = 1000 + 20 * known_.size();
    while (!worklist_.empty()) {
      Instruction* instruction = worklist_.front();
      worklist_.pop_front();
      // Entries of erased instructions are not pending.
      if (pending_.erase(instruction) == 0) continue;
      if (report_.fired.size() >= limit) {
        report_.exhausted = true;
        break;
      }
      visit(*instruction);
    }
    return std::move(report_);
  }

 private:
  void enqueue(Instruction& instruction) {
    if (pending_.insert(&instruction).second) worklist_.push_back(&instruction);
  }

  // In program order, so that operands are simplified before their users.
  void discover(const Computation& computation) {
    for (Instruction* instruction : computation.instructions()) {
      for (const auto& region : instruction->regions()) discover(*region);
      if (known_.insert(instruction).second) enqueue(*instruction);
    }
  }

  // A rule's new instructions are reached from its replacement, operands first. A chain of them may
  // be long: a rule may inline a region.
  void discover_new(Value value) {
    struct Frame {
      Instruction* instruction;
      int next_operand;
    };
    std::vector<Frame> stack;
    const auto enter = [&](Instruction* instruction) {
      if (known_.insert(instruction).second) stack.push_back({instruction, 0});
    };
    enter(value.def);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next_operand < top.instruction->num_operands()) {
        enter(top.instruction->operand(top.next_operand++).def);
        continue;
      }
      for (const auto& region : top.instruction->regions()) discover(*region);
      enqueue(*top.instruction);
      stack.pop_back();
    }
  }

  void visit(Instruction& instruction) {
    if (is_dead(instruction)) {
      erase(instruction);
      return;
    }
    const auto rules = rules_.rules_for(instruction.opcode());
    if (rules.empty()) return;
    Builder builder(instruction.parent(), &instruction);
    builder.set_metadata(instruction.metadata());
    for (const Rule* rule : rules) {
      const Replacement replacement = rule->rewrite(instruction, builder);
      if (replacement.empty()) continue;
      report_.fired.push_back(rule->name);
      replace(instruction, replacement, *rule);
      return;
    }
  }

  void replace(Instruction& instruction, const Replacement& replacement, const Rule& rule) {
    check(instruction, replacement, rule);
    for (Instruction* user : instruction.users()) enqueue(*user);
    for (int i = 0; i < instruction.num_results(); ++i) {
      const Value value = replacement[i];
      discover_new(value);
      Computation::replace_all_uses(instruction.result(i), value);
    }
    // Erased even if it has effects: the replacement has them if needed.
    erase(instruction);
  }

  static void check(Instruction& instruction, const Replacement& replacement, const Rule& rule) {
    bool fits = replacement.size() == instruction.results().size();
    for (int i = 0; fits && i < instruction.num_results(); ++i) {
      const Value value = replacement[i];
      fits = value.def != &instruction && value.type() == instruction.result(i).type();
    }
    if (fits) return;
    throw internal_error(
        "algebraic_simplifier: replacement by rule '{}', got other types, "
        "expected those of '{}', {}",
        rule.name, instruction.opcode(), instruction.describe());
  }

  // Erases an unused instruction, and pure operands that become unused.
  void erase(Instruction& first) {
    std::vector<Instruction*> dead{&first};
    while (!dead.empty()) {
      Instruction* next = dead.back();
      dead.pop_back();
      // An operand may occur twice.
      if (!known_.contains(next)) continue;
      const std::vector<Value> operands(next->operands().begin(), next->operands().end());
      forget(*next);
      next->parent().erase(next);
      for (const Value& operand : operands) {
        if (!known_.contains(operand.def)) continue;
        if (is_dead(*operand.def)) dead.push_back(operand.def);
        // Some rules require a single user.
        if (operand.def->users().size() == 1) enqueue(*operand.def->users()[0]);
      }
    }
  }

  void forget(Instruction& instruction) {
    known_.erase(&instruction);
    pending_.erase(&instruction);
    for (const auto& region : instruction.regions()) {
      for (Instruction* nested : region->instructions()) forget(*nested);
    }
  }

  const RuleIndex& rules_;
  std::deque<Instruction*> worklist_;
  std::unordered_set<Instruction*> pending_;
  std::unordered_set<Instruction*> known_;
  RewriteReport report_;
};

}  // namespace

void RuleIndex::add(std::span<const Rule> rules) {
  for (const Rule& rule : rules) {
    for (size_t i = 0; i < by_opcode_.size(); ++i) {
      if (rule.subject.covers(static_cast<Opcode>(i))) by_opcode_[i].push_back(&rule);
    }
  }
}

RewriteReport apply_rules(Module& module, const RuleIndex& rules) {
  return Rewriter(rules).run(module);
}

}  // namespace systole::hlo
