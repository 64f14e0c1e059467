#include "systole/hlo/passes/fusion.h"

#include <algorithm>
#include <queue>
#include <unordered_set>

#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/passes/fusion_groups.h"

namespace systole::hlo {
namespace {

bool inside_default(const Instruction& i) {
  if (i.is(Opcode::concatenate) || i.is(Opcode::pad)) return false;
  return i.traits().has(kIndexed) || maps_element_to_element(i);
}

bool at_end_default(const Instruction& i) { return i.is(Opcode::reduce) || joins_equal_shapes(i); }

bool cheap_default(const Instruction& i) {
  return i.is(Opcode::broadcast_in_dim) || i.is(Opcode::iota) || i.is(Opcode::reshape);
}

bool enter_default(const Instruction& i) {
  return i.is(Opcode::while_) || i.is(Opcode::if_) || i.is(Opcode::case_);
}

// Without repetitions, in the order of first appearance, which is the same in every process.
std::vector<Instruction*> distinct(std::span<Instruction* const> instructions) {
  std::unordered_set<Instruction*> seen;
  std::vector<Instruction*> result;
  for (Instruction* x : instructions) {
    if (seen.insert(x).second) result.push_back(x);
  }
  return result;
}

// One copy per user, so that each can be fused with its user.
bool copy_cheap_producers(Computation& computation, const FusionOptions& options) {
  bool changed = false;
  std::vector<Instruction*> program = computation.instructions();
  for (auto it = program.rbegin(); it != program.rend(); ++it) {
    Instruction& producer = **it;
    if (producer.num_results() != 1 || !options.cheap(producer) || !options.inside(producer))
      continue;
    const std::vector<Instruction*> users = distinct(producer.users());
    for (size_t k = 1; k < users.size(); ++k) {
      if (&users[k]->parent() != &computation || users[k] == computation.terminator()) continue;
      if (!options.inside(*users[k]) && !options.at_end(*users[k])) continue;
      ValueMap map;
      Instruction* copy = copy_instruction(producer, map, computation, &producer);
      for (int i = 0; i < users[k]->num_operands(); ++i) {
        if (users[k]->operand(i).def == &producer) users[k]->set_operand(i, copy->result());
      }
      changed = true;
    }
  }
  return changed;
}

bool is_scalar_constant(const Instruction& i) {
  return i.is(Opcode::constant) && i.shape().num_elements() == 1;
}

// Reorders the program so that the members of each group are adjacent, and keeps all other order
// where possible. Members keep their order; a group moves to the place of its last member if it
// can.
std::vector<std::vector<Instruction*>> schedule(const FusionGroups& groups) {
  const int n = groups.size();
  std::vector<std::vector<int>> members(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) members[groups.group(i)].push_back(i);
  std::vector<int> waiting(static_cast<size_t>(n), 0);
  std::vector<std::vector<int>> successors(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) {
    for (const int user : groups.users(i)) {
      if (groups.group(user) == groups.group(i)) continue;
      successors[groups.group(i)].push_back(groups.group(user));
      ++waiting[groups.group(user)];
    }
  }
  // Ready groups, by the position of their last member.
  std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>> ready;
  const auto push = [&](int g) { ready.push({members[g].back(), g}); };
  for (int g = 0; g < n; ++g) {
    if (!members[g].empty() && waiting[g] == 0) push(g);
  }
  std::vector<std::vector<Instruction*>> result;
  while (!ready.empty()) {
    const int g = ready.top().second;
    ready.pop();
    std::vector<Instruction*> together;
    for (const int i : members[g]) together.push_back(groups.instruction(i));
    result.push_back(std::move(together));
    for (const int next : successors[g]) {
      if (--waiting[next] == 0) push(next);
    }
  }
  return result;
}

struct Boundary {
  std::vector<Value> inputs;   // from outside, in order of use
  std::vector<Value> outputs;  // used outside, in program order
};

Boundary boundary_of(const std::vector<Instruction*>& members) {
  Boundary boundary;
  std::unordered_set<Value, ValueHash> seen;
  const std::unordered_set<const Instruction*> set(members.begin(), members.end());
  const auto is_member = [&](const Instruction* i) { return set.contains(i); };
  for (Instruction* member : members) {
    for (const Value& operand : member->operands()) {
      if (is_member(operand.def) || is_scalar_constant(*operand.def)) continue;
      if (seen.insert(operand).second) boundary.inputs.push_back(operand);
    }
    for (int r = 0; r < member->num_results(); ++r) {
      for (const Instruction* user : member->users()) {
        if (is_member(user)) continue;
        const auto uses = user->operands();
        if (std::ranges::find(uses, member->result(r)) == uses.end()) continue;
        boundary.outputs.push_back(member->result(r));
        break;
      }
    }
  }
  return boundary;
}

bool fuse(Computation& computation, const FusionOptions& options) {
  bool changed = copy_cheap_producers(computation, options);
  FusionGroups groups(computation, options);
  groups.form();
  const auto order = schedule(groups);
  for (const auto& together : order) {
    for (Instruction* member : together) computation.move_before(member, computation.terminator());
  }
  for (const auto& together : order) {
    if (together.size() < 2) continue;
    fuse_instructions(computation, together);
    changed = true;
  }
  return changed;
}

bool fuse_below(Computation& computation, const FusionOptions& options) {
  if (!computation.has_results()) return false;
  bool changed = false;
  for (const Instruction* i : computation.instructions()) {
    for (int r = 0; options.enter(*i) && r < i->num_regions(); ++r) {
      changed = fuse_below(i->region(r), options) || changed;
    }
  }
  return fuse(computation, options) || changed;
}

}  // namespace

Instruction* fuse_instructions(Computation& computation, const std::vector<Instruction*>& members) {
  const Boundary boundary = boundary_of(members);
  std::vector<TensorType> types;
  for (const Value& output : boundary.outputs) types.push_back(output.type());
  Instruction* fusion = computation.insert(Opcode::fusion, boundary.inputs, std::move(types),
                                           NoAttrs{}, members.front());
  fusion->set_metadata(boundary.outputs.front().def->metadata());
  Computation& region = fusion->add_region();
  ValueMap map;
  for (const Value& input : boundary.inputs) map[input] = region.add_parameter(input.type());
  for (const Instruction* member : members) {
    for (const Value& operand : member->operands()) {
      if (!is_scalar_constant(*operand.def) || map.contains(operand)) continue;
      copy_instruction(*operand.def, map, region, nullptr);
    }
    copy_instruction(*member, map, region, nullptr);
  }
  std::vector<Value> results;
  for (const Value& output : boundary.outputs) results.push_back(map.at(output));
  region.set_results(std::move(results));
  for (size_t k = 0; k < boundary.outputs.size(); ++k) {
    Computation::replace_all_uses(boundary.outputs[k], fusion->result(static_cast<int>(k)));
  }
  for (auto it = members.rbegin(); it != members.rend(); ++it) computation.erase(*it);
  return fusion;
}

FusionOptions FusionOptions::defaults() {
  return {.inside = inside_default,
          .at_end = at_end_default,
          .cheap = cheap_default,
          .enter = enter_default};
}

bool FusionPass::run(Module& module) {
  bool changed = false;
  for (const auto& function : module.functions())
    changed = fuse_below(*function, options_) || changed;
  return changed;
}

}  // namespace systole::hlo
