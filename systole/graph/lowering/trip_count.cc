#include "systole/graph/lowering/trip_count.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "systole/graph/lowering/constant_folder.h"

namespace systole {
namespace {

// Adds the numbers of `computation`'s parameters that `value` depends on.
void collect_parameters(const hlo::Computation& computation, hlo::Value value,
                        std::set<int>& found) {
  std::set<const hlo::Instruction*> seen;
  std::vector<const hlo::Instruction*> pending = {value.def};
  while (!pending.empty()) {
    const hlo::Instruction* instruction = pending.back();
    pending.pop_back();
    if (!seen.insert(instruction).second) continue;
    if (instruction->is(hlo::Opcode::parameter) && &instruction->parent() == &computation) {
      found.insert(instruction->attrs<hlo::ParameterAttrs>().index);
    }
    for (const hlo::Value& operand : instruction->operands()) pending.push_back(operand.def);
    for (const auto& region : instruction->regions()) {
      for (const hlo::Instruction* inner : region->instructions()) pending.push_back(inner);
    }
  }
}

// The carried values that decide how often the loop runs.
std::set<int> deciding_values(const LoopParts& loop) {
  std::set<int> deciding;
  collect_parameters(loop.cond, loop.cond_result, deciding);
  for (size_t before = 0; before != deciding.size();) {
    before = deciding.size();
    for (const int i : std::set<int>(deciding)) {
      collect_parameters(loop.body, loop.next[i], deciding);
    }
  }
  return deciding;
}

}  // namespace

std::optional<int64_t> find_trip_count(const LoopParts& loop,
                                       const std::function<std::optional<Tensor>(int)>& initial) {
  constexpr int64_t kMaxIterations = 1 << 20;
  std::map<int, Tensor> values;
  for (const int i : deciding_values(loop)) {
    std::optional<Tensor> value = initial(i);
    if (!value) return std::nullopt;
    values[i] = *std::move(value);
  }
  for (int64_t trip = 0; trip <= kMaxIterations; ++trip) {
    ConstantFolder folder;
    for (const auto& [i, value] : values) {
      folder.bind(loop.cond.parameter(i), value);
      folder.bind(loop.body.parameter(i), value);
    }
    const std::optional<Tensor> more = folder.fold(loop.cond_result);
    if (!more) return std::nullopt;
    if (!more->item<bool>()) return trip;
    std::map<int, Tensor> next;
    for (const auto& [i, value] : values) {
      std::optional<Tensor> folded = folder.fold(loop.next[i]);
      if (!folded) return std::nullopt;
      next[i] = *std::move(folded);
    }
    values = std::move(next);
  }
  return std::nullopt;
}

}  // namespace systole
