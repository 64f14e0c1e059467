#include "systole/backends/cpu/passes/process_sums.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "systole/backends/cpu/analysis/liveness.h"
#include "systole/backends/cpu/kernels/processes.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/analysis.h"
#include "systole/hlo/passes/vectorize_replicas.h"

namespace systole::cpu {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

bool calls(const Instruction& x, std::string_view target) {
  const std::string* const own = process_call(x);
  return own != nullptr && *own == target;
}

bool gives_sums(const Instruction& x) {
  return calls(x, hlo::kSumReplicas) || calls(x, kFinishSums);
}

// Calls `rewrite` for every program of the module, nested ones too. Returns whether any call did.
bool rewrite_programs(Computation& program, const auto& rewrite) {
  bool changed = false;
  for (const Instruction* x : program.instructions()) {
    if (!has_programs(*x)) continue;
    for (const auto& region : x->regions()) changed = rewrite_programs(*region, rewrite) || changed;
  }
  return rewrite(program) || changed;
}

bool rewrite_programs(hlo::Module& module, const auto& rewrite) {
  bool changed = false;
  for (const auto& function : module.functions()) {
    changed = rewrite_programs(*function, rewrite) || changed;
  }
  return changed;
}

// The values that the instruction reads.
std::vector<Value> reads(const Instruction& x) {
  std::vector<Value> values(x.operands().begin(), x.operands().end());
  const std::vector<Value> captured = hlo::captures(x);
  values.insert(values.end(), captured.begin(), captured.end());
  return values;
}

// By instruction of a program: how many sums, one after another, it waits for.
using Levels = std::unordered_map<const Instruction*, int>;

// Steps with effects other than meeting processes keep their order.
Levels levels_of(const Computation& program) {
  Levels levels;
  int of_effects = 0;
  for (const Instruction* x : program.instructions()) {
    int level = 0;
    for (const Value& value : reads(*x)) {
      const auto known = levels.find(value.def);
      if (known == levels.end()) continue;  // of an outer program
      level = std::max(level, known->second + (gives_sums(*value.def) ? 1 : 0));
    }
    if (!hlo::is_pure(*x) && process_call(*x) == nullptr && !x->is(Opcode::parameter)) {
      level = of_effects = std::max(level, of_effects);
    }
    levels.emplace(x, level);
  }
  return levels;
}

void sort_by_level(Computation& program, const Levels& levels) {
  std::vector<Instruction*> order = program.instructions();
  std::erase_if(order, [&](const Instruction* x) {
    return x == program.terminator() || x->is(Opcode::parameter);
  });
  std::ranges::stable_sort(order, {}, [&](const Instruction* x) { return levels.at(x); });
  for (Instruction* x : order) program.move_before(x, program.terminator());
}

// -- Joining

// Sums in program order.
using Group = std::vector<Instruction*>;

std::vector<Group> groups_of(const Computation& program, const Levels& levels, int64_t max_bytes) {
  struct Open {
    size_t group;
    int64_t bytes;
  };
  std::vector<Group> groups;
  std::map<std::tuple<int, DType, int64_t>, Open> open;  // by level, type of elements and lanes
  for (Instruction* x : program.instructions()) {
    if (!calls(*x, hlo::kSumReplicas)) continue;
    const int64_t bytes = x->type().byte_size();
    const auto key = std::tuple(levels.at(x), x->dtype(), x->operand(0).shape()[0]);
    const auto [found, is_new] = open.try_emplace(key, Open{groups.size(), 0});
    if (is_new || found->second.bytes + bytes > max_bytes) {
      found->second = {groups.size(), 0};
      groups.emplace_back();
    }
    groups[found->second.group].push_back(x);
    found->second.bytes += bytes;
  }
  return groups;
}

hlo::CustomCallAttrs call_of(const char* target) {
  return {.call_target_name = target, .has_side_effect = true};
}

void join(const Group& group, const runtime::ProcessGroup& processes) {
  Instruction& last = *group.back();
  const DType dtype = last.dtype();
  std::vector<Value> stacked;
  for (const Instruction* x : group) stacked.push_back(x->operand(0));
  const SumPlaces places = sum_places(stacked);
  const int64_t rows = processes.sum_rows(dtype, stacked[0].shape()[0]);
  hlo::Builder b(last.parent(), &last);
  b.set_metadata(last.metadata());
  const Value started =
      b.op(Opcode::custom_call, stacked, call_of(kStartSums), {{dtype, Shape{rows, places.count}}})
          ->result();
  const Value sums =
      b.op(Opcode::custom_call, {started}, call_of(kFinishSums), {{dtype, Shape{places.count}}})
          ->result();
  for (size_t i = 0; i < group.size(); ++i) {
    const Shape& shape = group[i]->shape();
    b.set_metadata(group[i]->metadata());
    const int64_t at = places.at[i];
    const Value own = group.size() == 1 ? sums : b.slice(sums, {at}, {at + shape.num_elements()});
    const Value sum = b.reshape(own, shape);
    hlo::replace_and_erase(*group[i], {&sum, 1});
  }
}

// -- Overlap

// Positions in the program of what stays in place.
class Positions {
 public:
  explicit Positions(const Computation& program) : order_(program.instructions()) {
    for (size_t i = 0; i < order_.size(); ++i) at_.emplace(order_[i], i);
  }
  // Returns the first instruction after all that `x` reads.
  Instruction* after_reads(const Instruction& x) const {
    size_t first = 0;
    for (const Value& value : x.operands()) {
      const auto def = at_.find(value.def);
      if (def != at_.end()) first = std::max(first, def->second + 1);
    }
    while (calls(*order_[first], kStartSums) || order_[first]->is(Opcode::parameter)) ++first;
    return order_[first];
  }
  // Returns the first instruction that uses a result of `x`, itself or in a region.
  Instruction* first_user(const Instruction& x) const {
    size_t first = order_.size() - 1;
    for (const Instruction* user : x.users()) {
      while (!at_.contains(user)) user = user->parent().owner();
      first = std::min(first, at_.at(user));
    }
    return order_[first];
  }

 private:
  std::vector<Instruction*> order_;
  std::unordered_map<const Instruction*, size_t> at_;
};

bool overlap(Computation& program) {
  std::vector<Instruction*> starts = program.instructions();
  std::erase_if(starts, [](const Instruction* x) { return !calls(*x, kStartSums); });
  if (starts.empty()) return false;
  sort_by_level(program, levels_of(program));
  const Positions sorted(program);
  for (Instruction* x : starts) program.move_before(x, sorted.after_reads(*x));
  const Positions started(program);
  for (Instruction* x : program.instructions()) {
    if (calls(*x, kFinishSums)) program.move_before(x, started.first_user(*x));
  }
  return true;
}

}  // namespace

int64_t max_joined_bytes(int num_processes) {
  constexpr int64_t kLeast = int64_t{4} << 20;
  constexpr int64_t kMessage = int64_t{32} << 10;
  return std::max(kLeast, kMessage * num_processes);
}

bool JoinSums::run(hlo::Module& module) {
  return rewrite_programs(module, [&](Computation& program) {
    const Levels levels = levels_of(program);
    const std::vector<Instruction*> all = program.instructions();
    if (std::ranges::none_of(all, [](auto* x) { return calls(*x, hlo::kSumReplicas); })) {
      return false;
    }
    sort_by_level(program, levels);
    for (const Group& group : groups_of(program, levels, max_joined_bytes(processes_.size()))) {
      join(group, processes_);
    }
    return true;
  });
}

bool OverlapSums::run(hlo::Module& module) {
  return rewrite_programs(module, [](Computation& program) { return overlap(program); });
}

}  // namespace systole::cpu
