#include "systole/backends/cpu/passes/recompute_elements.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/backends/cpu/passes/rewrite_each.h"
#include "systole/hlo/analysis/queries.h"

namespace systole::cpu {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

constexpr int64_t kMinRecomputedBytes = int64_t{256} << 10;  // smaller arrays may stay in a cache
constexpr int64_t kSmallPart = 16;  // an array of so much less than another counts as nothing
constexpr int kMaxDepth = 5;        // of a definition
constexpr int kSlackPart = 8;       // of a lifetime

// Copying it into a loop that reads it costs next to nothing.
bool is_cheap(const Instruction& x) {
  if (x.num_results() != 1) return false;
  if (x.is(Opcode::broadcast_in_dim) || x.is(Opcode::reshape)) return true;
  return x.traits().has(hlo::kElementwise) && !x.traits().has(hlo::kTranscendental) &&
         !x.is(Opcode::divide) && !x.is(Opcode::remainder);
}

// Fusion makes no loop of it and of what it reads.
bool is_heavy(const Instruction& x) {
  return x.is(Opcode::dot_general) || x.is(Opcode::convolution) || x.is(Opcode::custom_call) ||
         (x.num_regions() > 0 && !x.is(Opcode::reduce));
}

class Recomputation {
 public:
  explicit Recomputation(Computation& program)
      : program_(program), instructions_(program.instructions()) {
    int heavy = 0;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      position_[instructions_[i]] = static_cast<int>(i);
      if (is_heavy(*instructions_[i])) ++heavy;
      heavy_until_.push_back(heavy);
    }
  }

  bool run() {
    bool changed = false;
    for (Instruction* user : instructions_) {
      if (!is_cheap(*user) && !user->is(Opcode::reduce)) continue;
      for (int i = 0; i < user->num_operands(); ++i) {
        if (const auto copy = recomputed(user->operand(i), *user)) {
          user->set_operand(i, *copy);
          changed = true;
        }
      }
    }
    return changed;
  }

 private:
  // Where a use is, and how large the array is that it shall not need.
  struct Use {
    int position;
    int slack;  // by which another array may end earlier
    int64_t bytes;
    Value read = {};  // the large array that the copy reads
  };

  int position_of(const Instruction& x) const {
    const Instruction* seen = &x;
    while (&seen->parent() != &program_) seen = seen->parent().owner();
    return position_.at(seen);
  }
  int heavy_until(int position) const { return heavy_until_[u(position)]; }

  // The copy for a use, shared by uses without a product between them; nullopt where the array may
  // as well stay.
  std::optional<Value> recomputed(Value value, Instruction& user) {
    if (&value.def->parent() != &program_ || !is_cheap(*value.def)) return std::nullopt;
    if (value.type().byte_size() < kMinRecomputedBytes) return std::nullopt;
    Use use = use_at(value, position_.at(&user));
    const int part = heavy_until(use.position);
    if (heavy_until(position_.at(value.def)) == part) return std::nullopt;
    const auto [entry, added] = copies_.try_emplace({value.def, part});
    if (!added) return entry->second;
    if (lives_anyway(value, use) || !can_recompute(value, use)) return std::nullopt;
    return copies_[{value.def, part}] = copy(value, use, user);
  }

  Use use_at(Value value, int position) const {
    const int lifetime = position - position_.at(value.def);
    return {position, lifetime / kSlackPart, value.type().byte_size()};
  }

  // Some use that cannot have a copy needs the array at about that time.
  bool lives_anyway(Value value, const Use& use) const {
    const bool cheap = is_cheap(*value.def);
    // A parameter may be written over by the last step that reads it.
    const int least = use.position - (value.def->is(Opcode::parameter) ? 0 : use.slack);
    return std::ranges::any_of(value.def->users(), [&](const Instruction* user) {
      if (position_of(*user) < least) return false;
      return !cheap || is_heavy(*user) || user->traits().has(hlo::kTerminator) ||
             &user->parent() != &program_;
    });
  }

  static bool is_small(Value value, const Use& use) {
    return value.def->traits().has(hlo::kLeaf) ||
           value.type().byte_size() * kSmallPart <= use.bytes;
  }
  bool is_there(Value value, const Use& use) const {
    if (is_small(value, use)) return true;
    if (&value.def->parent() != &program_) return false;
    const bool takes_less = !is_cheap(*value.def) && !value.def->is(Opcode::parameter) &&
                            2 * value.type().byte_size() <= use.bytes;
    return takes_less || lives_anyway(value, use);
  }

  // A copy that reads more than one large array could take longer than what it saves.
  static bool can_read(Value value, Use& use) {
    if (is_small(value, use)) return true;
    if (!use.read) use.read = value;
    return use.read == value;
  }

  bool can_recompute(Value value, Use& use, int depth = 0) const {
    if (!is_cheap(*value.def) || depth == kMaxDepth || &value.def->parent() != &program_)
      return false;
    return std::ranges::all_of(value.def->operands(), [&](const Value& operand) {
      if (is_there(operand, use)) return can_read(operand, use);
      if (const auto other = stand_in(*value.def, operand, use)) return can_read(*other, use);
      return can_recompute(operand, use, depth + 1);
    });
  }

  // x > z is max(x, z) > z, also if x or z is not a number.
  std::optional<Value> stand_in(const Instruction& comparison, Value operand,
                                const Use& use) const {
    if (!comparison.is(Opcode::compare) || operand != comparison.operand(0)) return std::nullopt;
    const auto& attrs = comparison.attrs<hlo::CompareAttrs>();
    if (attrs.direction != hlo::ComparisonDirection::gt ||
        attrs.compare_type == hlo::ComparisonType::totalorder)
      return std::nullopt;
    const Value bound = comparison.operand(1);
    for (Instruction* user : operand.def->users()) {
      if (!user->is(Opcode::maximum) || &user->parent() != &program_) continue;
      const bool same = (user->operand(0) == operand && user->operand(1) == bound) ||
                        (user->operand(1) == operand && user->operand(0) == bound);
      if (same && lives_anyway(user->result(), use)) return user->result();
    }
    return std::nullopt;
  }

  Value copy(Value value, const Use& use, Instruction& user) {
    hlo::ValueMap map;
    for (const Value& operand : value.def->operands()) {
      if (is_there(operand, use)) continue;
      const auto other = stand_in(*value.def, operand, use);
      map[operand] = other ? *other : copy(operand, use, user);
    }
    Instruction* const made = hlo::copy_instruction(*value.def, map, program_, &user);
    position_[made] = use.position;
    return made->result();
  }

  Computation& program_;
  std::vector<Instruction*> instructions_;  // before any copy
  std::unordered_map<const Instruction*, int> position_;
  std::vector<int> heavy_until_;
  std::map<std::pair<const Instruction*, int>, std::optional<Value>> copies_;
};

}  // namespace

bool RecomputeElements::run(hlo::Module& module) {
  return rewrite_programs(module,
                          [](Computation& program) { return Recomputation(program).run(); });
}

}  // namespace systole::cpu
