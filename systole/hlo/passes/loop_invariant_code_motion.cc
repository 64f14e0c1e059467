#include "systole/hlo/passes/loop_invariant_code_motion.h"

#include <unordered_map>
#include <unordered_set>

#include "systole/hlo/analysis/queries.h"

namespace systole::hlo {
namespace {

// Results up to this size are always hoisted.
constexpr int64_t kSmallBytes = 256;

// Replaces values that a loop carries unchanged by their initial values.
bool forward_unchanged(Instruction& loop) {
  bool changed = false;
  const Computation& cond = loop.region(0);
  const Computation& body = loop.region(1);
  for (int i = 0; i < loop.num_results(); ++i) {
    const Value initial = loop.operand(i);
    const Value last = body.results()[i];
    if (last != body.parameter(i) && last != initial) continue;
    const auto replace = [&](Value value) {
      for (Instruction* user : std::vector(value.def->users().begin(), value.def->users().end())) {
        for (const Value& operand : user->operands()) changed |= operand == value;
      }
      Computation::replace_all_uses(value, initial);
    };
    replace(cond.parameter(i));
    replace(body.parameter(i));
    replace(loop.result(i));
  }
  return changed;
}

class Hoister {
 public:
  explicit Hoister(Instruction& loop) : loop_(loop), body_(loop.region(1)) {}

  bool run() {
    for (Instruction* instruction : body_.instructions()) {
      if (!is_invariant(*instruction)) continue;
      invariant_.insert(instruction);
      if (is_worth_moving(*instruction)) move(*instruction);
    }
    return changed_;
  }

 private:
  bool is_outside(Value value) const { return !body_.encloses(value.def->parent()); }

  bool is_invariant(Value value) const {
    return is_outside(value) || invariant_.contains(value.def);
  }

  bool is_invariant(const Instruction& instruction) const {
    if (!is_pure(instruction)) return false;
    for (const Value& operand : instruction.operands()) {
      if (!is_invariant(operand)) return false;
    }
    for (const Value& captured : captures(instruction)) {
      if (!is_invariant(captured)) return false;
    }
    return true;
  }

  // The bytes of the operands, which would have to be kept to compute the value inside the loop.
  int64_t source_bytes(Value value) const {
    if (is_outside(value)) return value.type().byte_size();
    const auto found = inside_.find(value.def);
    return found == inside_.end() ? 0 : found->second;
  }

  bool is_worth_moving(const Instruction& instruction) {
    int64_t sources = 0;
    for (const Value& operand : instruction.operands()) sources += source_bytes(operand);
    int64_t bytes = 0;
    for (const TensorType& type : instruction.results()) bytes += type.byte_size();
    const bool moves =
        !instruction.traits().has(kLeaf | kBitcast) && (bytes <= sources || bytes <= kSmallBytes);
    if (!moves) inside_[&instruction] = sources;
    return moves;
  }

  // Copies the instruction and its operands before the loop.
  void move(Instruction& instruction) {
    copy(instruction);
    for (int i = 0; i < instruction.num_results(); ++i) {
      const auto entry = outside_.find(instruction.result(i));
      Computation::replace_all_uses(entry->first, entry->second);
      outside_.erase(entry);
    }
    invariant_.erase(&instruction);
    body_.erase(&instruction);
    changed_ = true;
  }

  // Copies an instruction, and the operands that it needs from the loop, to before the loop. An
  // operand that does not pay by itself also stays in the loop for its other users.
  void copy(Instruction& instruction) {
    struct Frame {
      Instruction* instruction;
      std::vector<Value> inputs;  // those from inside
      size_t next;
    };
    std::vector<Frame> stack;
    const auto enter = [&](Instruction& x) { stack.push_back({&x, inputs_from_inside(x), 0}); };
    enter(instruction);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == top.inputs.size()) {
        write_copy(*top.instruction, top.inputs);
        stack.pop_back();
      } else if (const Value input = top.inputs[top.next++]; !outside_.contains(input)) {
        enter(*input.def);
      }
    }
  }

  std::vector<Value> inputs_from_inside(const Instruction& instruction) const {
    std::vector<Value> inputs(instruction.operands().begin(), instruction.operands().end());
    const std::vector<Value> captured = captures(instruction);
    inputs.insert(inputs.end(), captured.begin(), captured.end());
    std::erase_if(inputs, [&](const Value& value) { return is_outside(value); });
    return inputs;
  }

  void write_copy(Instruction& instruction, std::span<const Value> inputs) {
    ValueMap map;
    for (const Value& input : inputs) map[input] = outside_.at(input);
    Instruction* moved = copy_instruction(instruction, map, loop_.parent(), &loop_);
    for (int i = 0; i < instruction.num_results(); ++i) {
      outside_[instruction.result(i)] = moved->result(i);
    }
  }

  Instruction& loop_;
  Computation& body_;
  std::unordered_set<const Instruction*> invariant_;
  std::unordered_map<const Instruction*, int64_t> inside_;
  ValueMap outside_;  // the copies of what stays inside
  bool changed_ = false;
};

bool hoist_invariants(const Computation& computation) {
  bool changed = false;
  for (Instruction* instruction : computation.instructions()) {
    // Inner loops first: values hoisted out of them may also leave the outer ones.
    for (const auto& region : instruction->regions()) changed |= hoist_invariants(*region);
    if (!instruction->is(Opcode::while_)) continue;
    changed |= forward_unchanged(*instruction);
    changed |= Hoister(*instruction).run();
  }
  return changed;
}

}  // namespace

bool LoopInvariantCodeMotion::run(Module& module) {
  bool changed = false;
  for (const auto& function : module.functions()) changed |= hoist_invariants(*function);
  return changed;
}

}  // namespace systole::hlo
