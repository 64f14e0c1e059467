#include "systole/hlo/passes/fusion_groups.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "systole/hlo/analysis/queries.h"

namespace systole::hlo {
namespace {

// Code of an element is emitted recursively. Chains of cheap instructions alone can become as long.
constexpr size_t kMaxMembers = 512;
constexpr int kUnranked = std::numeric_limits<int>::max();

size_t at(int i) { return static_cast<size_t>(i); }

double elements(const Instruction& i) { return static_cast<double>(i.shape().num_elements()); }

bool is_movable(const Instruction& x) {
  return is_pure(x) && x.num_results() > 0 && x.shape().num_elements() > 0 && captures(x).empty();
}

// Returns whether the instruction is too expensive to compute twice per element.
bool expensive(const Instruction& i) {
  return i.traits().has(kTranscendental) || i.is(Opcode::divide) || i.is(Opcode::remainder);
}

}  // namespace

bool maps_element_to_element(const Instruction& i) {
  if (i.is(Opcode::bitcast_convert))
    return dtype_info(i.dtype()).bits == dtype_info(i.operand(0).dtype()).bits;
  return i.traits().has(kElementwise) || i.traits().has(kBitcast);
}

bool joins_equal_shapes(const Instruction& i) {
  if (!i.is(Opcode::concatenate) || i.num_operands() > kMaxJoined) return false;
  return std::ranges::all_of(
      i.operands(), [&](const Value& operand) { return operand.shape() == i.operand(0).shape(); });
}

FusionGroups::FusionGroups(Computation& computation, const FusionOptions& options)
    : options_(options), program_(computation.instructions()) {
  std::erase(program_, computation.terminator());
  std::unordered_map<const Instruction*, int> number;
  for (int i = 0; i < size(); ++i) number[instruction(i)] = i;
  users_.resize(program_.size());
  inputs_.resize(program_.size());
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
    for (const int user : users_[at(i)]) inputs_[at(user)].push_back(i);
  }
}

void FusionGroups::form() {
  start_groups();
  for (int i = size() - 1; i >= 0; --i) {
    rank_[at(i)] = rank_above_users(i);
    join_users(i);
  }
  merge_consumers();
  merge_ends();
  assert(ranks_hold());
}

bool FusionGroups::ranks_hold() const {
  for (int i = 0; i < size(); ++i) {
    for (const int user : users(i)) {
      if (group(user) != group(i) && rank_[at(group(user))] >= rank_[at(group(i))]) return false;
    }
  }
  return true;
}

void FusionGroups::start_groups() {
  movable_.resize(program_.size());
  group_.resize(program_.size());
  groups_.resize(program_.size());
  rank_.assign(program_.size(), kUnranked);
  seen_.assign(program_.size(), 0);
  wanted_.assign(program_.size(), 0);
  own_index_.assign(program_.size(), true);
  evaluated_.resize(program_.size());
  for (int i = 0; i < size(); ++i) {
    const Instruction& x = *instruction(i);
    movable_[at(i)] = is_movable(x);
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
  std::set<int> seen;
  for (const int user : users(i)) {
    if (seen.insert(group(user)).second) candidates.push_back(group(user));
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

// A cheap instruction outside the group is stored in memory needlessly.
bool FusionGroups::has_room(int i, int g) const {
  if (groups_[at(g)].members.size() >= kMaxMembers) return false;
  const int code = code_of(i);
  return code == 0 || groups_[at(g)].code + code <= options_.max_code;
}

double FusionGroups::evaluations(int i, int g) const {
  // Users at the same index share one evaluation; users at another index need their own.
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
    // A broadcast scalar (clamp's bounds, select's condition, a reduction's initial value).
    if (instruction(i)->shape().num_elements() != groups_[at(g)].loop.num_elements()) return false;
    used = true;
  }
  return used;
}

bool FusionGroups::fits_inside(int i, int g) const {
  const double times = evaluations(i, g);
  if (times <= elements(*instruction(i))) return true;
  if (options_.cheap(*instruction(i))) return true;
  // One more simple operation per use is cheaper than memory, unless it brings a chain of others
  // with it.
  return !expensive(*instruction(i)) && instruction(i)->num_operands() == 1 &&
         times <= 4 * elements(*instruction(i));
}

bool FusionGroups::fits_as_result(int i, int g) {
  const Instruction& x = *instruction(i);
  if (options_.cheap(x) || !index_kept(i, g)) return false;
  // A reshape of a stored value shares its memory. Computed in the loop it would be a second copy.
  if (has_only_bitcasts(g)) return false;
  return !makes_cycle(i, g);
}

bool FusionGroups::has_only_bitcasts(int g) const {
  return std::ranges::all_of(groups_[at(g)].members, [&](int member) {
    return instruction(member)->traits().has(kBitcast);
  });
}

bool FusionGroups::makes_cycle(int i, int g) {
  std::vector<int> outside;
  for (const int user : users(i)) {
    if (group(user) != g) outside.push_back(user);
  }
  return reaches(outside, g);
}

// Searches backwards from the group, closest to `from` first: if a path leads through most of a
// program, it is found early.
bool FusionGroups::reaches(const std::vector<int>& from, int g) {
  ++search_;
  int highest = 0;
  for (const int i : from) {
    wanted_[at(group(i))] = search_;
    highest = std::max(highest, rank_[at(group(i))]);
  }
  std::priority_queue<std::pair<int, int>> waiting;
  waiting.push({rank_[at(g)], g});
  while (!waiting.empty()) {
    const int next = waiting.top().second;
    waiting.pop();
    for (const int member : groups_[at(next)].members) {
      for (const int input : inputs_[at(member)]) {
        const int before = group(input);
        if (wanted_[at(before)] == search_) return true;
        if (rank_[at(before)] > highest || seen_[at(before)] == search_) continue;
        seen_[at(before)] = search_;
        waiting.push({rank_[at(before)], before});
      }
    }
  }
  return false;
}

int FusionGroups::rank_above_users(int i) const {
  int rank = 0;
  for (const int user : users(i)) {
    if (group(user) != group(i)) rank = std::max(rank, rank_[at(group(user))] + 1);
  }
  return rank;
}

// Raises the producers of the group with it, each once, in the order of their ranks.
void FusionGroups::raise_rank(int g, int rank) {
  std::map<std::pair<int, int>, int> rising{{{rank_[at(g)], g}, rank}};
  while (!rising.empty()) {
    const auto [place, to] = *rising.begin();
    rising.erase(rising.begin());
    const int next = place.second;
    rank_[at(next)] = std::max(rank_[at(next)], to);
    for (const int member : groups_[at(next)].members) {
      for (const int input : inputs_[at(member)]) {
        const int before = group(input);
        if (before == next || rank_[at(before)] > rank_[at(next)]) continue;
        int& above = rising[{rank_[at(before)], before}];
        above = std::max(above, rank_[at(next)] + 1);
      }
    }
  }
}

void FusionGroups::join(int i, int g) {
  own_index_[at(i)] = index_kept(i, g);
  evaluated_[at(i)] = evaluations(i, g);
  group_[at(i)] = g;
  Group& group = groups_[at(g)];
  group.members.push_back(i);
  group.code += code_of(i);
  groups_[at(i)].members.clear();
  const int rank = rank_above_users(i);
  if (rank > rank_[at(g)]) raise_rank(g, rank);
}

bool FusionGroups::is_loop(int g) const {
  if (group(g) != g || groups_[at(g)].members.empty() || !movable(g)) return false;
  const Instruction& root = *instruction(g);
  return groups_[at(g)].ends ? joins_equal_shapes(root) : options_.inside(root);
}

bool FusionGroups::reads_at_own_index(int consumer, int producer) const {
  const int64_t count = groups_[at(producer)].loop.num_elements();
  if (groups_[at(consumer)].loop.num_elements() != count) return false;
  bool reads_result = false;
  for (const int member : groups_[at(consumer)].members) {
    for (const int input : inputs_[at(member)]) {
      if (group(input) != producer) continue;
      const Instruction& user = *instruction(member);
      const bool same = own_index_[at(member)] && own_index_[at(input)] &&
                        (maps_element_to_element(user) || options_.at_end(user)) &&
                        instruction(input)->shape().num_elements() == count;
      if (!same) return false;
      reads_result = true;
    }
  }
  return reads_result;
}

bool FusionGroups::merges_into(int consumer, int producer) {
  const Group& from = groups_[at(consumer)];
  const Group& into = groups_[at(producer)];
  if (!is_loop(producer) || from.code + into.code > options_.max_code) return false;
  if (has_only_bitcasts(consumer) || !reads_at_own_index(consumer, producer)) return false;
  std::vector<int> others;
  for (const int member : into.members) {
    for (const int user : users(member)) {
      if (group(user) != producer && group(user) != consumer) others.push_back(user);
    }
  }
  return others.empty() || !reaches(others, consumer);
}

// Instructions whose users were in several groups joined one of them, as one of its results. The
// other groups can still run in the same loop: then the value is not stored and read again.
void FusionGroups::merge_consumers() {
  for (int g = 0; g < size(); ++g) {
    if (!is_loop(g)) continue;
    std::set<int> producers;
    for (const int member : groups_[at(g)].members) {
      for (const int input : inputs_[at(member)]) {
        if (group(input) != g) producers.insert(group(input));
      }
    }
    for (const int producer : producers) {
      if (!merges_into(g, producer)) continue;
      groups_[at(producer)].code += groups_[at(g)].code;
      merge(g, producer);
      break;
    }
  }
}

bool FusionGroups::same_nest(int a, int b) const {
  const Instruction& x = *instruction(a);
  const Instruction& y = *instruction(b);
  return x.opcode() == y.opcode() && x.operand(0).shape() == y.operand(0).shape() &&
         x.attrs() == y.attrs();
}

bool FusionGroups::is_end(int g) const {
  return group(g) == g && groups_[at(g)].ends && !groups_[at(g)].members.empty() && movable(g);
}

std::vector<const Instruction*> FusionGroups::large_reads(int g) const {
  std::vector<const Instruction*> result;
  for (const int member : groups_[at(g)].members) {
    for (const Value& operand : instruction(member)->operands()) {
      if (operand.shape() == groups_[at(g)].loop) result.push_back(operand.def);
    }
  }
  return result;
}

// Reductions of the same kind and shape that read a common operand share a nest.
void FusionGroups::merge_ends() {
  std::unordered_map<const Instruction*, std::vector<int>> readers;
  for (int g = 0; g < size(); ++g) {
    if (!is_end(g)) continue;
    for (const Instruction* read : large_reads(g)) readers[read].push_back(g);
  }
  for (int a = 0; a < size(); ++a) {
    if (!is_end(a)) continue;
    std::set<int> others;
    const auto add_readers = [&](const std::vector<const Instruction*>& reads, int behind) {
      for (const Instruction* read : reads) {
        for (const int g : readers[read]) {
          if (g > behind) others.insert(g);
        }
      }
    };
    add_readers(large_reads(a), a);
    while (!others.empty()) {
      const int b = *others.begin();
      others.erase(others.begin());
      if (!is_end(b) || !same_nest(a, b)) continue;
      if (reaches(groups_[at(a)].members, b) || reaches(groups_[at(b)].members, a)) continue;
      add_readers(large_reads(b), b);
      merge(b, a);
    }
  }
}

void FusionGroups::merge(int from, int into) {
  const std::vector<int> moved = std::exchange(groups_[at(from)].members, {});
  for (const int i : moved) group_[at(i)] = into;
  auto& members = groups_[at(into)].members;
  members.insert(members.end(), moved.begin(), moved.end());
  raise_rank(into, std::max(rank_[at(into)], rank_[at(from)]));
}

}  // namespace systole::hlo
