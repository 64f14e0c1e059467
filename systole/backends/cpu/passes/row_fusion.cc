#include "systole/backends/cpu/passes/row_fusion.h"

#include <algorithm>
#include <unordered_set>

#include "systole/backends/cpu/analysis/liveness.h"
#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/backends/cpu/codegen/native.h"
#include "systole/hlo/passes/analysis.h"
#include "systole/hlo/passes/fusion.h"

namespace systole::cpu {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;
using InstructionSet = std::unordered_set<const Instruction*>;

constexpr int64_t kLeastRowsBytes = 512 * 1024;  // of the largest array: less stays in a cache
constexpr int64_t kLeastRowBytes = 256;          // of the largest array
constexpr int64_t kMostRowBytes = 256 * 1024;    // of all results together
constexpr int64_t kMostGathered = 16 * 1024;     // elements
constexpr size_t kMostSteps = 16;

bool is_step(const Instruction& x) {
  if (x.num_results() == 0 || !hlo::is_pure(x) || !hlo::captures(x).empty()) return false;
  if (x.is(Opcode::fusion)) return !is_row_fusion(x);
  if (x.is(Opcode::constant) || x.traits().has(hlo::kBitcast)) return false;
  if (x.is(Opcode::select_and_scatter)) return has_native_code(x);
  return x.is(Opcode::reduce) || x.is(Opcode::rng_bit_generator) || computes_elements(x);
}

// What it gathers, if it does, is little, and wanted if it is not a state that moves on.
bool can_gather(const Instruction& x, int64_t rows) {
  for (int k = 0; k < x.num_results(); ++k) {
    const Value result{const_cast<Instruction*>(&x), k};
    if (!is_gathered(result, rows)) continue;
    if (result.shape().num_elements() > kMostGathered) return false;
    if (!is_used(result) && !x.is(Opcode::rng_bit_generator)) return false;
  }
  return true;
}

int64_t result_bytes(const Instruction& x) {
  int64_t bytes = 0;
  for (const TensorType& type : x.results()) bytes += type.byte_size();
  return bytes;
}

// A group of steps, in program order, and what lies between them.
class RowGroup {
 public:
  // Nothing joins but the seed where the group would not be worth it.
  RowGroup(Computation& computation, Instruction& seed, int64_t rows)
      : program_(computation.instructions()), rows_(rows), members_({&seed}) {
    add_users();
    while (add_producer()) add_users();
  }

  const std::vector<Instruction*>& members() const { return members_; }

  bool worth_it() const {
    int64_t largest = 0;
    for (const Instruction* x : members_) {
      for (const Value& operand : x->operands())
        largest = std::max(largest, operand.type().byte_size());
    }
    return members_.size() > 1 && largest >= kLeastRowsBytes && largest / rows_ >= kLeastRowBytes;
  }

  // Brings the members together, behind the last of them, and makes them one.
  void fuse(Computation& computation) {
    const auto after = std::ranges::find(program_, members_.back()) + 1;
    Instruction* next = *after;  // a computation has a terminator
    const std::vector<Instruction*> waiting = dependents(members_);
    for (Instruction* x : members_) computation.move_before(x, next);
    for (Instruction* x : waiting) computation.move_before(x, next);
    hlo::fuse_instructions(computation, members_);
  }

 private:
  bool is_member(const Instruction* x) const {
    return std::ranges::find(members_, x) != members_.end();
  }
  static bool uses_any(const Instruction& x, const InstructionSet& set) {
    const auto in_set = [&](const Value& v) { return set.contains(v.def); };
    const auto inner = hlo::captures(x);
    return std::ranges::any_of(x.operands(), in_set) || std::ranges::any_of(inner, in_set);
  }

  // What stands before the last member, is none, and depends on one.
  std::vector<Instruction*> dependents(const std::vector<Instruction*>& members) const {
    InstructionSet reached(members.begin(), members.end());
    std::vector<Instruction*> result;
    auto it = std::ranges::find(program_, members.front());
    for (; *it != members.back(); ++it) {
      if (reached.contains(*it) || !uses_any(**it, reached)) continue;
      reached.insert(*it);
      result.push_back(*it);
    }
    return result;
  }

  // No path leads out of the group and back in.
  bool closed(const std::vector<Instruction*>& members) const {
    const auto outside = dependents(members);
    const InstructionSet set(outside.begin(), outside.end());
    return std::ranges::none_of(members, [&](const Instruction* x) { return uses_any(*x, set); });
  }

  bool fits(const Instruction& x) const {
    if (members_.size() >= kMostSteps || !is_step(x)) return false;
    int64_t bytes = result_bytes(x);
    for (const Instruction* member : members_) bytes += result_bytes(*member);
    return bytes / rows_ <= kMostRowBytes && can_gather(x, rows_) &&
           works_by_rows(x, rows_, [&](Value v) { return is_member(v.def); });
  }

  void add_users() {
    InstructionSet inside(members_.begin(), members_.end());
    InstructionSet outside;
    auto it = std::ranges::find(program_, members_.front());
    for (; it != program_.end() && !(*it)->traits().has(hlo::kTerminator); ++it) {
      Instruction& x = **it;
      if (inside.contains(&x)) continue;
      const bool behind = uses_any(x, outside);
      if (!behind && !uses_any(x, inside)) continue;
      if (!behind && fits(x) && !inside.contains(&x)) {
        members_.insert(
            std::ranges::find_if(members_,
                                 [&](const Instruction* m) { return position(m) > position(&x); }),
            &x);
        inside.insert(&x);
      } else {
        outside.insert(&x);
      }
    }
  }

  size_t position(const Instruction* x) const {
    return static_cast<size_t>(std::ranges::find(program_, x) - program_.begin());
  }

  // A step that reduces the same rows and is used by a member.
  bool add_producer() {
    for (const Instruction* member : members_) {
      for (const Value& operand : member->operands()) {
        Instruction* producer = operand.def;
        if (is_member(producer) || &producer->parent() != &member->parent()) continue;
        if (!is_step(*producer) || rows_of_step(*producer) != rows_ || !fits(*producer)) continue;
        const auto reads = [&](Value v) { return is_member(v.def) || v.def == producer; };
        const bool by_rows = std::ranges::all_of(
            members_, [&](const Instruction* m) { return works_by_rows(*m, rows_, reads); });
        if (!by_rows) continue;
        std::vector<Instruction*> larger = members_;
        larger.push_back(producer);
        std::ranges::sort(larger, {}, [&](const Instruction* x) { return position(x); });
        if (!closed(larger)) continue;
        members_ = std::move(larger);
        return true;
      }
    }
    return false;
  }

  std::vector<Instruction*> program_;
  int64_t rows_;
  std::vector<Instruction*> members_;
};

bool fuse_rows(Computation& computation) {
  bool changed = false;
  InstructionSet done;
  for (Instruction* x : computation.instructions()) {
    if (done.contains(x)) continue;
    for (int r = 0; has_programs(*x) && r < x->num_regions(); ++r)
      changed = fuse_rows(x->region(r)) || changed;
    if (!is_step(*x)) continue;
    const auto rows = rows_of_step(*x);
    if (!rows || *rows < 2 || !can_gather(*x, *rows)) continue;
    RowGroup group(computation, *x, *rows);
    if (!group.worth_it()) continue;
    done.insert(group.members().begin(), group.members().end());
    group.fuse(computation);
    changed = true;
  }
  return changed;
}

}  // namespace

bool RowFusionPass::run(hlo::Module& module) {
  bool changed = false;
  for (const auto& function : module.functions()) {
    if (function->has_results()) changed = fuse_rows(*function) || changed;
  }
  return changed;
}

}  // namespace systole::cpu
