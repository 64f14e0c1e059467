#include "systole/tpu_check/program_memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "systole/hlo/passes/pipeline.h"
#include "systole/runtime/tpu_tiles.h"

namespace systole::tpu_check {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

int64_t bytes_of(const TensorType& type) {
  return type.is_static() ? runtime::padded_bytes(type) : 0;
}

bool is_alias(const Instruction& x) {
  return x.is(Opcode::optimization_barrier) || x.is(Opcode::while_) ||
         x.traits().has(hlo::kBitcast);
}

// Computed where it is read.
bool is_fused(const Instruction& x) {
  if (x.is(Opcode::constant) || x.is(Opcode::iota) || x.is(Opcode::broadcast_in_dim)) return true;
  if (x.num_results() != 1 || !x.traits().has(hlo::kElementwise)) return false;
  const std::unordered_set<const Instruction*> users(x.users().begin(), x.users().end());
  return users.size() == 1;
}

// Whose memory a value is in.
const Instruction* owner(Value value) {
  while (is_alias(*value.def) && value.def->num_operands() > 0) {
    const bool many = value.def->is(Opcode::while_) || value.def->is(Opcode::optimization_barrier);
    value = value.def->operand(many ? value.index : 0);
  }
  return value.def;
}

int64_t most_alive(const Computation& computation) {
  const std::vector<Instruction*> list = computation.instructions();
  std::unordered_map<const Instruction*, int> index;
  for (size_t i = 0; i < list.size(); ++i) index[list[i]] = static_cast<int>(i);
  std::unordered_map<const Instruction*, int> last;
  for (auto it = list.rbegin(); it != list.rend(); ++it) {
    const Instruction& x = **it;
    if (is_alias(x) && !x.is(Opcode::while_)) continue;
    const int when = is_fused(x) && last.contains(&x) ? last[&x] : index[&x];
    const auto use = [&](const Value& value) {
      int& at = last[owner(value)];
      at = std::max(at, when);
    };
    for (const Value& value : x.operands()) use(value);
    for (const auto& region : x.regions()) {
      for (const Instruction* inner : region->instructions()) {
        for (const Value& value : inner->operands()) {
          if (&value.def->parent() == &computation) use(value);
        }
      }
    }
  }
  std::multimap<int, int64_t> ends;
  int64_t alive = 0;
  int64_t most = 0;
  for (const Instruction* x : list) {
    while (!ends.empty() && ends.begin()->first < index[x]) {
      alive -= ends.begin()->second;
      ends.erase(ends.begin());
    }
    if (x->is(Opcode::parameter) || x->is(Opcode::return_)) continue;
    if (x->is(Opcode::while_)) {
      most = std::max(most, alive + most_alive(x->region(1)));
      continue;
    }
    const bool only_returned = !x->unused() && std::ranges::all_of(x->users(), [](auto* user) {
      return user->is(Opcode::return_);
    });
    if (is_alias(*x) || is_fused(*x) || only_returned) continue;
    for (const TensorType& type : x->results()) {
      alive += bytes_of(type);
      ends.emplace(last.contains(x) ? last[x] : index[x], bytes_of(type));
    }
    most = std::max(most, alive);
  }
  return most;
}

}  // namespace

int64_t program_memory(const hlo::Module& module) {
  const auto optimized = module.clone();
  hlo::optimize(*optimized);
  const Computation& entry = optimized->entry();
  int64_t bytes = most_alive(entry);
  for (int i = 0; i < entry.num_parameters(); ++i) bytes += bytes_of(entry.parameter(i).type());
  std::set<int> in_place;
  for (const hlo::Module::Alias& alias : optimized->aliases) in_place.insert(alias.result);
  for (size_t i = 0; i < entry.results().size(); ++i) {
    if (!in_place.contains(static_cast<int>(i))) bytes += bytes_of(entry.results()[i].type());
  }
  return bytes;
}

}  // namespace systole::tpu_check
