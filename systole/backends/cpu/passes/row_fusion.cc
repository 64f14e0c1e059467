#include "systole/backends/cpu/passes/row_fusion.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "systole/backends/cpu/analysis/attention_fusion.h"
#include "systole/backends/cpu/analysis/liveness.h"
#include "systole/backends/cpu/analysis/product_fusion.h"
#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/backends/cpu/kernels/row_dot.h"
#include "systole/backends/cpu/passes/rewrite_each.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/passes/fusion.h"

namespace systole::cpu {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;
using InstructionSet = std::unordered_set<const Instruction*>;

constexpr int64_t kMinRowsBytes = 512 * 1024;       // of the largest array: less stays in a cache
constexpr int64_t kMinRowBytes = 256;               // of the largest array
constexpr int64_t kMaxRowBytes = 256 * 1024;        // of all results together
constexpr int64_t kMaxProductRowBytes = 64 * 1024;  // the same with products, which take many rows
constexpr int64_t kMaxGathered = 16 * 1024;         // elements
constexpr size_t kMaxThunks = 16;

// Returns whether the gathered results are small and used; a random state may be unused.
bool can_gather(const Instruction& x, int64_t rows) {
  for (int k = 0; k < x.num_results(); ++k) {
    const Value result{const_cast<Instruction*>(&x), k};
    if (!is_gathered(result, rows)) continue;
    if (result.shape().num_elements() > kMaxGathered) return false;
    if (!is_used(result) && !x.is(Opcode::rng_bit_generator)) return false;
  }
  return true;
}

int64_t result_bytes(const Instruction& x) {
  int64_t bytes = 0;
  for (const TensorType& type : x.results()) bytes += type.byte_size();
  return bytes;
}

// The instructions of a computation, numbered in program order. Fused instructions leave unused
// numbers.
class Program {
 public:
  Program(Computation& computation, const RowFusionPass::Predicate& has_native_code)
      : computation_(computation),
        has_native_code_(has_native_code),
        instructions_(computation.instructions()),
        captures_(instructions_.size()) {
    for (size_t i = 0; i < instructions_.size(); ++i) numbers_[instructions_[i]] = i;
  }

  Instruction& operator[](size_t number) const { return *instructions_[number]; }
  // REQUIRES: it is one of the program.
  size_t number(const Instruction* x) const { return numbers_.at(x); }

  // The reference value of an op is computed from whole arrays, never from a block of rows: only
  // instructions with native code can be members.
  bool is_thunk(const Instruction& x) const {
    if (x.num_results() == 0 || !hlo::is_pure(x) || !hlo::captures(x).empty()) return false;
    if (x.is(Opcode::fusion))
      return !is_row_fusion(x) && !is_product_fusion(x) && !is_attention_fusion(x);
    if (x.is(Opcode::constant) || x.traits().has(hlo::kBitcast)) return false;
    return has_native_code_(x) &&
           (x.is(Opcode::reduce) || x.is(Opcode::rng_bit_generator) ||
            x.is(Opcode::select_and_scatter) || computes_elements(x) || row_dot(x));
  }

  // Adds the numbers, from `least` on, of the values that the instruction uses, in its regions too.
  void add_inputs(size_t x, size_t least, std::set<size_t>& to) {
    for (const Value& operand : instructions_[x]->operands()) add_number(operand, least, to);
    if (captures_[x] == Captures::none || instructions_[x]->num_regions() == 0) return;
    const std::vector<Value> captured = hlo::captures(*instructions_[x]);
    captures_[x] = captured.empty() ? Captures::none : Captures::some;
    for (const Value& value : captured) add_number(value, least, to);
  }
  void add_users(size_t x, std::set<size_t>& to) const {
    for (const Instruction* user : instructions_[x]->users()) {
      while (&user->parent() != &computation_) user = user->parent().owner();
      to.insert(number(user));
    }
  }

  // Fuses the members into one instruction. Moves `waiting`, which are between them and depend on
  // them, after it.
  void fuse(const std::vector<size_t>& members, const std::vector<size_t>& waiting) {
    const size_t first = members.front();
    const size_t last = members.back();
    size_t next = last + 1;  // a computation has a terminator
    while (instructions_[next] == nullptr) ++next;
    const std::vector<Instruction*> together = take(members);
    const std::vector<Instruction*> behind = take(waiting);
    for (Instruction* x : together) computation_.move_before(x, instructions_[next]);
    for (Instruction* x : behind) computation_.move_before(x, instructions_[next]);
    std::vector<Instruction*> order;
    for (size_t i = first; i <= last; ++i) {
      if (instructions_[i] != nullptr) order.push_back(instructions_[i]);
    }
    order.push_back(hlo::fuse_instructions(computation_, together));
    order.insert(order.end(), behind.begin(), behind.end());
    order.resize(last + 1 - first, nullptr);
    for (size_t i = 0; i < order.size(); ++i) {
      instructions_[first + i] = order[i];
      captures_[first + i] = Captures::unknown;
      if (order[i] != nullptr) numbers_[order[i]] = first + i;
    }
  }

 private:
  enum class Captures : char { unknown, none, some };

  void add_number(Value value, size_t least, std::set<size_t>& to) const {
    const auto found = numbers_.find(value.def);
    if (found != numbers_.end() && found->second >= least) to.insert(found->second);
  }
  std::vector<Instruction*> take(const std::vector<size_t>& numbers) {
    std::vector<Instruction*> taken;
    for (const size_t i : numbers) {
      taken.push_back(std::exchange(instructions_[i], nullptr));
      numbers_.erase(taken.back());
    }
    return taken;
  }

  Computation& computation_;
  const RowFusionPass::Predicate& has_native_code_;
  std::vector<Instruction*> instructions_;
  std::vector<Captures> captures_;
  std::unordered_map<const Instruction*, size_t> numbers_;
};

// A group of thunks, as their numbers in the program, in order.
class RowGroup {
 public:
  // Only the seed is a member if the group would not be worth it.
  RowGroup(Program& program, size_t seed, int64_t rows)
      : program_(program), rows_(rows), members_({seed}) {
    add_users();
    while (add_producer()) add_users();
  }

  bool worth_it() const {
    int64_t largest = 0;
    for (const size_t member : members_) {
      for (const Value& operand : program_[member].operands())
        largest = std::max(largest, operand.type().byte_size());
    }
    return members_.size() > 1 && largest >= kMinRowsBytes && largest / rows_ >= kMinRowBytes;
  }

  void add_to(InstructionSet& instructions) const {
    for (const size_t member : members_) instructions.insert(&program_[member]);
  }

  // Moves the members after the last of them and fuses them.
  void fuse() { program_.fuse(members_, dependents()); }

 private:
  static bool among(const std::vector<size_t>& members, size_t x) {
    return std::ranges::binary_search(members, x);
  }
  bool is_member(const Value& value) const {
    return std::ranges::any_of(members_, [&](size_t x) { return &program_[x] == value.def; });
  }

  // Returns instructions before the last member that are not members and depend on one.
  std::vector<size_t> dependents() const {
    std::set<size_t> users;
    for (const size_t member : members_) program_.add_users(member, users);
    std::vector<size_t> result;
    for (auto it = users.begin(); it != users.end() && *it < members_.back(); ++it) {
      if (among(members_, *it)) continue;
      result.push_back(*it);
      program_.add_users(*it, users);
    }
    return result;
  }

  // Returns whether a path from a member to one of `ends` leads through an instruction that is
  // neither. Searches backwards, instructions near the first member first: a path through most of
  // the program is then found early.
  bool leads_around(const std::vector<size_t>& members, const std::vector<size_t>& ends) const {
    std::set<size_t> waiting;
    const size_t first = members.front();
    for (const size_t end : ends) program_.add_inputs(end, first, waiting);
    std::unordered_set<size_t> seen(members.begin(), members.end());
    while (!waiting.empty()) {
      const size_t next = *waiting.begin();
      waiting.erase(waiting.begin());
      if (!seen.insert(next).second) continue;
      std::set<size_t> inputs;
      program_.add_inputs(next, first, inputs);
      if (std::ranges::any_of(inputs, [&](size_t x) { return among(members, x); })) return true;
      waiting.merge(inputs);
    }
    return false;
  }

  bool fits(const Instruction& x) const {
    if (members_.size() >= kMaxThunks || !program_.is_thunk(x)) return false;
    int64_t bytes = result_bytes(x);
    bool products = x.is(Opcode::dot_general);
    for (const size_t member : members_) {
      bytes += result_bytes(program_[member]);
      products = products || program_[member].is(Opcode::dot_general);
    }
    return bytes / rows_ <= (products ? kMaxProductRowBytes : kMaxRowBytes) &&
           can_gather(x, rows_) && works_by_rows(x, rows_, [&](Value v) { return is_member(v); });
  }

  void add_users() {
    std::set<size_t> users;
    for (const size_t member : members_) program_.add_users(member, users);
    for (auto it = users.begin(); it != users.end(); ++it) {
      if (among(members_, *it) || !fits(program_[*it]) || leads_around(members_, {*it})) continue;
      members_.insert(std::ranges::upper_bound(members_, *it), *it);
      program_.add_users(*it, users);
    }
  }

  // Adds a thunk that reduces the same rows and is used by a member.
  bool add_producer() {
    for (const size_t member : members_) {
      for (const Value& operand : program_[member].operands()) {
        const Instruction* producer = operand.def;
        if (is_member(operand) || &producer->parent() != &program_[member].parent()) continue;
        if (!program_.is_thunk(*producer) || rows_of_thunk(*producer) != rows_ || !fits(*producer))
          continue;
        const auto reads = [&](Value v) { return is_member(v) || v.def == producer; };
        const bool by_rows = std::ranges::all_of(
            members_, [&](size_t m) { return works_by_rows(program_[m], rows_, reads); });
        if (!by_rows) continue;
        std::vector<size_t> larger = members_;
        const size_t number = program_.number(producer);
        larger.insert(std::ranges::upper_bound(larger, number), number);
        if (leads_around(larger, larger)) continue;
        members_ = std::move(larger);
        return true;
      }
    }
    return false;
  }

  Program& program_;
  int64_t rows_;
  std::vector<size_t> members_;
};

bool fuse_rows(Computation& computation, const RowFusionPass::Predicate& has_native_code) {
  bool changed = false;
  Program program(computation, has_native_code);
  InstructionSet done;
  for (Instruction* x : computation.instructions()) {
    if (done.contains(x)) continue;
    // A product alone is faster as a whole: it joins what reduces its rows.
    if (!program.is_thunk(*x) || x->is(Opcode::dot_general)) continue;
    const auto rows = rows_of_thunk(*x);
    if (!rows || *rows < 2 || !can_gather(*x, *rows)) continue;
    RowGroup group(program, program.number(x), *rows);
    if (!group.worth_it()) continue;
    group.add_to(done);
    group.fuse();
    changed = true;
  }
  return changed;
}

}  // namespace

bool RowFusionPass::run(hlo::Module& module) {
  return rewrite_programs(module, [&](Computation& program) {
    return program.has_results() && fuse_rows(program, has_native_code_);
  });
}

}  // namespace systole::cpu
