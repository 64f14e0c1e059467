#include "systole/backends/cpu/passes/all_reduces.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "systole/backends/cpu/analysis/liveness.h"
#include "systole/backends/cpu/kernels/processes.h"
#include "systole/backends/cpu/passes/rewrite_each.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/replicas/vectorize_replicas.h"

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
  return calls(x, hlo::kSumReplicas) || calls(x, kAllReduceDone);
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

// Returns the level of each instruction. Instructions with side effects, other than exchanges with
// other processes, keep their order: none has a lower level than the one before it.
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

// Returns the program's sums in the order in which their operands are there: gradients of the last
// layers first.
std::vector<Instruction*> sums_by_readiness(const Computation& program) {
  std::unordered_map<const Instruction*, int> position;
  std::vector<Instruction*> sums;
  for (Instruction* x : program.instructions()) {
    position.emplace(x, static_cast<int>(position.size()));
    if (calls(*x, hlo::kSumReplicas)) sums.push_back(x);
  }
  std::ranges::stable_sort(sums, {}, [&](const Instruction* x) {
    const auto found = position.find(x->operand(0).def);
    return found == position.end() ? 0 : found->second;
  });
  return sums;
}

struct Group {
  std::vector<Instruction*> sums;
  int64_t bytes = 0;
};

std::vector<Group> groups_of(const Computation& program, const Levels& levels, int64_t max_bytes) {
  std::vector<Group> groups;
  std::map<std::tuple<int, DType, int64_t>, size_t> open;  // by level, type of elements and lanes
  for (Instruction* x : sums_by_readiness(program)) {
    const int64_t bytes = x->type().byte_size();
    const auto key = std::tuple(levels.at(x), x->dtype(), x->operand(0).shape()[0]);
    const auto [found, is_new] = open.try_emplace(key, groups.size());
    if (is_new || groups[found->second].bytes + bytes > max_bytes) {
      found->second = groups.size();
      groups.emplace_back();
    }
    groups[found->second].sums.push_back(x);
    groups[found->second].bytes += bytes;
  }
  return groups;
}

// Returns the member that comes last in the program: the operands of all are there, and no result
// was used.
Instruction& last_of(const std::vector<Instruction*>& sums) {
  Instruction* last = sums.back();
  for (Instruction* x : sums[0]->parent().instructions()) {
    if (std::ranges::find(sums, x) != sums.end()) last = x;
  }
  return *last;
}

hlo::CustomCallAttrs call_of(const char* target) {
  return {.call_target_name = target, .has_side_effect = true};
}

void join_group(const std::vector<Instruction*>& group, const runtime::ProcessGroup& processes) {
  Instruction& last = last_of(group);
  const DType dtype = last.dtype();
  std::vector<Value> stacked;
  for (const Instruction* x : group) stacked.push_back(x->operand(0));
  const SumPlaces places = sum_places(stacked);
  const int64_t rows = processes.sum_rows(dtype, stacked[0].shape()[0]);
  hlo::Builder b(last.parent(), &last);
  b.set_metadata(last.metadata());
  const Value started = b.op(Opcode::custom_call, stacked, call_of(kAllReduceStart),
                             {{dtype, Shape{rows, places.count}}})
                            ->result();
  const Value sums =
      b.op(Opcode::custom_call, {started}, call_of(kAllReduceDone), {{dtype, Shape{places.count}}})
          ->result();
  std::vector<Value> results;
  for (size_t i = 0; i < group.size(); ++i) {
    const Shape& shape = group[i]->shape();
    b.set_metadata(group[i]->metadata());
    const int64_t at = places.at[i];
    const Value own = group.size() == 1 ? sums : b.slice(sums, {at}, {at + shape.num_elements()});
    results.push_back(b.reshape(own, shape));
  }
  for (size_t i = 0; i < group.size(); ++i) hlo::replace_and_erase(*group[i], {&results[i], 1});
}

// -- Overlap

// Moves each call of kAllReduceStart to after what it reads.
void move_starts(Computation& program, const std::vector<Instruction*>& starts) {
  const std::vector<Instruction*> order = program.instructions();
  std::unordered_map<const Instruction*, size_t> position;
  for (size_t i = 0; i < order.size(); ++i) position.emplace(order[i], i);
  for (Instruction* start : starts) {
    size_t after = 0;
    for (const Value& value : start->operands()) {
      const auto def = position.find(value.def);
      if (def != position.end()) after = std::max(after, def->second + 1);
    }
    while (order[after]->is(Opcode::parameter) || calls(*order[after], kAllReduceStart)) ++after;
    program.move_before(start, order[after]);
  }
}

// Writes a program again, with what can wait before its first use.
class LateFinishes {
 public:
  explicit LateFinishes(Computation& program) : program_(program) {}

  void run() {
    std::vector<Instruction*> order = program_.instructions();
    std::erase_if(order, [&](const Instruction* x) {
      return x == program_.terminator() || x->is(Opcode::parameter);
    });
    // Calls of kAllReduceDone, and parts of their results.
    for (const Instruction* x : order) {
      const bool is_part =
          (x->is(Opcode::reshape) || x->is(Opcode::slice)) && waiting_.contains(x->operand(0).def);
      if (calls(*x, kAllReduceDone) || is_part) waiting_.insert(x);
    }
    for (Instruction* x : order) {
      if (!waiting_.contains(x)) write(*x);
    }
    for (Instruction* x : order) {
      if (waiting_.contains(x)) write(*x);
    }
  }

 private:
  void write(Instruction& x) {
    waiting_.erase(&x);
    std::vector<Instruction*> stack{&x};
    while (!stack.empty()) {
      Instruction* const top = stack.back();
      const auto values = reads(*top);
      const auto next = std::ranges::find_if(
          values, [&](const Value& value) { return waiting_.contains(value.def); });
      if (next == values.end()) {
        program_.move_before(top, program_.terminator());
        stack.pop_back();
      } else {
        waiting_.erase(next->def);
        stack.push_back(next->def);
      }
    }
  }

  Computation& program_;
  std::unordered_set<const Instruction*> waiting_;
};

bool overlap(Computation& program) {
  std::vector<Instruction*> starts = program.instructions();
  std::erase_if(starts, [](const Instruction* x) { return !calls(*x, kAllReduceStart); });
  if (starts.empty()) return false;
  sort_by_level(program, levels_of(program));
  move_starts(program, starts);
  LateFinishes(program).run();
  return true;
}

}  // namespace

bool AllReduceCombiner::run(hlo::Module& module) {
  return rewrite_programs(module, [&](Computation& program) {
    const Levels levels = levels_of(program);
    const std::vector<Instruction*> all = program.instructions();
    if (std::ranges::none_of(all, [](auto* x) { return calls(*x, hlo::kSumReplicas); })) {
      return false;
    }
    sort_by_level(program, levels);
    for (const Group& group :
         groups_of(program, levels, runtime::max_joined_bytes(processes_.size()))) {
      join_group(group.sums, processes_);
    }
    return true;
  });
}

bool AllReduceScheduler::run(hlo::Module& module) {
  return rewrite_programs(module, [](Computation& program) { return overlap(program); });
}

}  // namespace systole::cpu
