#include "systole/hlo/passes/fusion_groups.h"

#include <algorithm>

#include "systole/hlo/passes/analysis.h"

namespace systole::hlo {
namespace {

size_t at(int i) { return static_cast<size_t>(i); }

double elements(const Instruction& i) { return static_cast<double>(i.shape().num_elements()); }

// Costs too much to be done twice for the same element.
bool expensive(const Instruction& i) {
  return i.traits().has(kTranscendental) || i.is(Opcode::divide) || i.is(Opcode::remainder);
}

}  // namespace

bool maps_element_to_element(const Instruction& i) {
  if (i.is(Opcode::bitcast_convert))
    return dtype_info(i.dtype()).bits == dtype_info(i.operand(0).dtype()).bits;
  return i.traits().has(kElementwise) || i.traits().has(kBitcast);
}

FusionGroups::FusionGroups(Computation& computation, const FusionOptions& options)
    : options_(options), program_(computation.instructions()) {
  std::erase(program_, computation.terminator());
  std::unordered_map<const Instruction*, int> number;
  for (int i = 0; i < size(); ++i) number[instruction(i)] = i;
  users_.resize(program_.size());
  used_outside_.assign(program_.size(), false);
  for (int i = 0; i < size(); ++i) {
    for (const Instruction* user : instruction(i)->users()) {
      while (&user->parent() != &computation) user = user->parent().owner();
      if (user == computation.terminator()) {
        used_outside_[at(i)] = true;
      } else {
        users_[at(i)].push_back(number.at(user));
      }
    }
    std::ranges::sort(users_[at(i)]);
    users_[at(i)].erase(std::unique(users_[at(i)].begin(), users_[at(i)].end()),
                        users_[at(i)].end());
  }
}

void FusionGroups::form() {
  start_groups();
  for (int i = size() - 1; i >= 0; --i) join_users(i);
  merge_ends();
}

bool FusionGroups::movable(int i) const {
  const Instruction& x = *instruction(i);
  return is_pure(x) && x.num_results() > 0 && x.shape().num_elements() > 0 && captures(x).empty();
}

void FusionGroups::start_groups() {
  group_.resize(program_.size());
  groups_.resize(program_.size());
  own_index_.assign(program_.size(), true);
  evaluated_.resize(program_.size());
  for (int i = 0; i < size(); ++i) {
    const Instruction& x = *instruction(i);
    group_[at(i)] = i;
    Group& group = groups_[at(i)];
    group.members = {i};
    group.code = code_of(i);
    if (x.num_results() == 0) continue;
    group.ends = options_.at_end(x);
    group.loop = group.ends ? x.operand(0).shape() : x.shape();
    evaluated_[at(i)] = static_cast<double>(group.loop.is_static() ? group.loop.num_elements() : 0);
  }
}

void FusionGroups::join_users(int i) {
  if (!options_.inside(*instruction(i)) || !movable(i) || users(i).empty()) return;
  std::vector<int> candidates;
  for (const int user : users(i)) {
    if (std::ranges::find(candidates, group(user)) == candidates.end())
      candidates.push_back(group(user));
  }
  for (const int g : candidates) {
    const Instruction& root = *instruction(g);
    if (!options_.inside(root) && !options_.at_end(root)) continue;
    if (!movable(g) || !has_room(i, g)) continue;
    const bool all_inside = candidates.size() == 1 && !used_outside_[at(i)];
    if (all_inside ? fits_inside(i, g) : fits_as_result(i, g)) {
      join(i, g);
      return;
    }
  }
}

int FusionGroups::code_of(int i) const {
  const Instruction& x = *instruction(i);
  if (options_.cheap(x)) return 0;
  return x.traits().has(kTranscendental) ? FusionOptions::kTranscendentalCode : 1;
}

// A cheap one that is left outside goes through memory for nothing.
bool FusionGroups::has_room(int i, int g) const {
  const int code = code_of(i);
  return code == 0 || groups_[at(g)].code + code <= options_.max_code;
}

double FusionGroups::evaluations(int i, int g) const {
  // Users at one index share one evaluation; those at another index cost one of their own.
  double shared = 0;
  double apart = 0;
  for (const int user : users(i)) {
    if (group(user) != g) continue;
    const Instruction& u = *instruction(user);
    const double times = evaluated_[at(user)];
    if (maps_element_to_element(u) || options_.at_end(u)) {
      shared = std::max(shared, times);
    } else {
      apart += times;
    }
  }
  return shared + apart;
}

bool FusionGroups::index_kept(int i, int g) const {
  bool used = false;
  for (const int user : users(i)) {
    if (group(user) != g) continue;
    const Instruction& u = *instruction(user);
    const bool kept = options_.at_end(u) || maps_element_to_element(u);
    if (!kept || !own_index_[at(user)]) return false;
    // A scalar that is repeated (clamp's bounds, select's condition, a reduction's initial value).
    if (instruction(i)->shape().num_elements() != groups_[at(g)].loop.num_elements()) return false;
    used = true;
  }
  return used;
}

bool FusionGroups::fits_inside(int i, int g) const {
  const double times = evaluations(i, g);
  if (times <= elements(*instruction(i))) return true;
  if (options_.cheap(*instruction(i))) return true;
  // One more simple operation a use is cheaper than memory, unless it pulls a chain of them behind
  // it.
  return !expensive(*instruction(i)) && instruction(i)->num_operands() == 1 &&
         times <= 4 * elements(*instruction(i));
}

bool FusionGroups::fits_as_result(int i, int g) const {
  const Instruction& x = *instruction(i);
  if (options_.cheap(x) || !index_kept(i, g)) return false;
  return !makes_cycle(i, g);
}

bool FusionGroups::makes_cycle(int i, int g) const {
  std::vector<int> outside;
  for (const int user : users(i)) {
    if (group(user) != g) outside.push_back(user);
  }
  return reaches(outside, g);
}

bool FusionGroups::reaches(const std::vector<int>& from, int g) const {
  std::vector<bool> seen(program_.size(), false);
  std::vector<int> stack;
  for (const int i : from) stack.push_back(group(i));
  while (!stack.empty()) {
    const int next = stack.back();
    stack.pop_back();
    if (next == g) return true;
    if (seen[at(next)]) continue;
    seen[at(next)] = true;
    for (const int member : groups_[at(next)].members) {
      for (const int user : users(member)) {
        if (group(user) != next) stack.push_back(group(user));
      }
    }
  }
  return false;
}

void FusionGroups::join(int i, int g) {
  own_index_[at(i)] = index_kept(i, g);
  evaluated_[at(i)] = evaluations(i, g);
  group_[at(i)] = g;
  Group& group = groups_[at(g)];
  group.members.insert(group.members.begin(), i);
  group.code += code_of(i);
  groups_[at(i)].members.clear();
}

bool FusionGroups::same_nest(int a, int b) const {
  const Instruction& x = *instruction(a);
  const Instruction& y = *instruction(b);
  return x.opcode() == y.opcode() && x.operand(0).shape() == y.operand(0).shape() &&
         x.attrs() == y.attrs();
}

// Reductions of one shape in one way that read something in common run over it together.
void FusionGroups::merge_ends() {
  const auto reads = [&](int g) {
    std::vector<const Instruction*> result;
    for (const int member : groups_[at(g)].members) {
      for (const Value& operand : instruction(member)->operands()) {
        const bool large = operand.shape() == groups_[at(g)].loop;
        if (large && group_[at(member)] == g) result.push_back(operand.def);
      }
    }
    return result;
  };
  for (int a = 0; a < size(); ++a) {
    if (group(a) != a || !groups_[at(a)].ends || groups_[at(a)].members.empty() || !movable(a))
      continue;
    for (int b = a + 1; b < size(); ++b) {
      if (group(b) != b || !groups_[at(b)].ends || groups_[at(b)].members.empty() || !movable(b))
        continue;
      if (!same_nest(a, b)) continue;
      const auto of_a = reads(a);
      const auto of_b = reads(b);
      const bool common = std::ranges::any_of(
          of_b, [&](const Instruction* x) { return std::ranges::find(of_a, x) != of_a.end(); });
      if (!common || reaches(groups_[at(a)].members, b) || reaches(groups_[at(b)].members, a))
        continue;
      std::vector<int> moved = std::exchange(groups_[at(b)].members, {});
      for (const int i : moved) group_[at(i)] = a;
      auto& members = groups_[at(a)].members;
      members.insert(members.end(), moved.begin(), moved.end());
      std::ranges::sort(members);
    }
  }
}

}  // namespace systole::hlo
