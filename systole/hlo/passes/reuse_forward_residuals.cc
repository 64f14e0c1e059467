#include "systole/hlo/passes/reuse_forward_residuals.h"

#include <algorithm>
#include <unordered_set>

#include "systole/hlo/analysis/counted_loop.h"
#include "systole/hlo/analysis/match.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/analysis/structural_equality.h"
#include "systole/hlo/ir/builder.h"

namespace systole::hlo {
namespace {

bool is_expensive(const Instruction& instruction) {
  return instruction.is(Opcode::dot_general) || instruction.is(Opcode::convolution);
}

// Finds values of a later loop that an earlier loop has computed, iteration by iteration.
class Counterparts {
 public:
  Counterparts(Instruction& earlier, Instruction& later)
      : earlier_(earlier), later_(later), earlier_counters_(earlier), later_counters_(later) {
    if (!earlier_counters_.trips() || !later_counters_.trips()) return;
    for (Instruction* instruction : later.region(1).instructions()) visit(*instruction);
  }

  // The value of the earlier body; null if none is known.
  Value of(Value value) const {
    const auto found = map_.find(value);
    return found == map_.end() ? Value() : found->second;
  }
  const LoopCounters& earlier_counters() const { return earlier_counters_; }
  const LoopCounters& later_counters() const { return later_counters_; }
  // The rows in which the earlier loop stacks values and from which the later loop reads them, and
  // the number of rows.
  struct Rows {
    Linear written;
    Linear read;
    int64_t count = 0;
  };
  const std::optional<Rows>& rows() const { return rows_; }

 private:
  void visit(Instruction& instruction) {
    if (instruction.num_results() != 1 || instruction.is(Opcode::parameter)) return;
    const Value value = instruction.result();
    if (read_history(value)) return;
    if (Value same = unwrapped(value)) {
      map_[value] = same;
      return;
    }
    if (!is_pure(instruction) || is_contextual(instruction) || instruction.num_regions() > 0) {
      return;
    }
    const bool known = std::ranges::any_of(instruction.operands(), [&](const Value& operand) {
      return of(operand) || later_counters_.linear(operand);
    });
    if (!known || !rows_) return;
    for (Instruction* candidate : earlier_.region(1).instructions()) {
      if (candidate->opcode() == instruction.opcode() && computes_same(*candidate, instruction)) {
        map_[value] = candidate->result();
        return;
      }
    }
  }

  // A row of a result of the earlier loop is the row that the loop wrote.
  bool read_history(Value value) {
    const auto read = match_row_read(value, later_, later_counters_);
    if (!read || read->array.def != &earlier_) return false;
    const auto write = match_row_write(earlier_, read->array.index, earlier_counters_);
    if (!write || (write->at.step != 1 && write->at.step != -1)) return false;
    if (read->at.step != 1 && read->at.step != -1) return false;
    if (!later_counters_.counter_for(read->at.step) ||
        !earlier_counters_.counter_for(write->at.step)) {
      return false;
    }
    const Rows rows{.written = write->at, .read = read->at, .count = read->array.shape()[0]};
    if (!rows_) {
      if (!all_written(rows)) return false;
      rows_ = rows;
    }
    if (rows_->written != rows.written || rows_->read != rows.read) return false;
    map_[value] = write->row;
    return true;
  }

  bool all_written(const Rows& rows) const {
    const auto range = [](const Linear& at, int64_t trips) {
      return std::minmax({at.at(0), at.at(trips - 1)});
    };
    const auto [first, last] = range(rows.written, *earlier_counters_.trips());
    const auto [low, high] = range(rows.read, *later_counters_.trips());
    return first <= low && high <= last;
  }

  // reshape(row) where the row is reshape(v) and v has this shape: v.
  Value unwrapped(Value value) const {
    const Instruction* const reshape = match(value, Opcode::reshape);
    if (reshape == nullptr) return {};
    const Value row = of(reshape->operand(0));
    if (!row || !row.def->is(Opcode::reshape)) return {};
    const Value source = row.def->operand(0);
    return source.shape() == value.shape() ? source : Value();
  }

  bool computes_same(const Instruction& a, const Instruction& b) const {
    if (a.num_operands() != b.num_operands() || !same_function(a, b)) return false;
    const auto all_same = [&](bool swapped) {
      for (int i = 0; i < a.num_operands(); ++i) {
        const int other = swapped ? a.num_operands() - 1 - i : i;
        if (!same_value(a.operand(i), b.operand(other))) return false;
      }
      return true;
    };
    return all_same(false) ||
           (a.traits().has(kCommutative) && a.num_operands() == 2 && all_same(true));
  }

  // `a` of the earlier body, or from outside, against `b` of the later one.
  bool same_value(Value a, Value b) const {
    for (;;) {
      if (const std::optional<bool> answer = compared(a, b)) return *answer;
      const Instruction* const p = match(a, Opcode::broadcast_in_dim);
      const Instruction* const q = match(b, Opcode::broadcast_in_dim);
      if (p == nullptr || q == nullptr || !same_function(*p, *q)) return false;
      a = p->operand(0);
      b = q->operand(0);
    }
  }

  // Nothing if it depends on the operands.
  std::optional<bool> compared(Value a, Value b) const {
    if (const Value counterpart = of(b)) return counterpart == a;
    if (a == b) return !earlier_.region(1).encloses(a.def->parent());
    if (const auto x = earlier_counters_.linear(a)) {
      const auto y = later_counters_.linear(b);
      return y && same_number(*x, *y);
    }
    if (constant_of(a) != nullptr && constant_of(b) != nullptr)
      return structurally_equal(*a.def, *b.def);
    return std::nullopt;
  }

  // Whether both are equal in the iterations that access one row: `a` where the earlier loop writes
  // it, `b` where the later loop reads it.
  bool same_number(const Linear& a, const Linear& b) const {
    return by_row(a, rows_->written) == by_row(b, rows_->read);
  }

  Instruction& earlier_;
  Instruction& later_;
  LoopCounters earlier_counters_;
  LoopCounters later_counters_;
  std::optional<Rows> rows_;
  ValueMap map_;
};

// What becomes of a product by elementwise ops that have a counterpart, as long as one op alone
// uses it and keeps its type.
Value last_of_size(Value value, const Counterparts& counterparts) {
  while (value.def->users().size() == 1) {
    Instruction* const user = value.def->users()[0];
    if (&user->parent() != &value.def->parent() || user->num_results() != 1) break;
    if (!user->traits().has(kElementwise) || user->type() != value.type()) break;
    if (!counterparts.of(user->result())) break;
    value = user->result();
  }
  return value;
}

class HistoryWriter {
 public:
  HistoryWriter(Instruction& earlier, Instruction& later)
      : earlier_(earlier), later_(later), counterparts_(earlier, later) {}

  bool run() {
    if (!counterparts_.rows()) return false;
    find();
    if (again_.empty()) return false;
    std::vector<Stack> stacks;
    const Counterparts::Rows rows = *counterparts_.rows();
    int64_t bytes = 0;
    for (const Value& value : again_) {
      stacks.push_back({counterparts_.of(value), rows.written, rows.count});
      bytes += rows.count * value.type().byte_size();
    }
    if (bytes > kMaxStackBytes) return false;
    const int first = earlier_.num_results();
    Instruction* const fresh = add_stacks(earlier_, counterparts_.earlier_counters(), stacks);
    for (size_t i = 0; i < again_.size(); ++i) {
      read_instead(again_[i], fresh->result(first + static_cast<int>(i)), rows.read);
    }
    return true;
  }

 private:
  void find() {
    for (Instruction* instruction : later_.region(1).instructions()) {
      if (!is_expensive(*instruction)) continue;
      if (!counterparts_.of(instruction->result()) || instruction->unused()) continue;
      const Value value = last_of_size(instruction->result(), counterparts_);
      if (std::ranges::find(again_, value) == again_.end()) again_.push_back(value);
    }
  }

  void read_instead(Value value, Value stack, const Linear& at) const {
    const Value index = build_index(later_, counterparts_.later_counters(), at, value.def);
    Builder b(later_.region(1), value.def);
    b.set_metadata(value.def->metadata());
    Dims sizes = stack.shape().dims();
    sizes[0] = 1;
    std::vector<Value> starts(sizes.size(), b.scalar(index.dtype(), 0));
    starts[0] = index;
    const Value row = b.reshape(b.dynamic_slice(stack, starts, sizes), value.shape());
    Computation::replace_all_uses(value, row);
  }

  Instruction& earlier_;
  Instruction& later_;
  Counterparts counterparts_;
  std::vector<Value> again_;  // values of the later body that the earlier one has
};

// The loops of the same computation of which the loop reads stacks.
std::vector<Instruction*> earlier_loops(const Instruction& loop) {
  std::vector<Instruction*> found;
  for (const Value& value : captures(loop)) {
    if (value.def->is(Opcode::while_) && &value.def->parent() == &loop.parent() &&
        std::ranges::find(found, value.def) == found.end()) {
      found.push_back(value.def);
    }
  }
  return found;
}

bool keep_histories(Instruction& loop) {
  bool changed = false;
  for (Instruction* const earlier : earlier_loops(loop)) {
    changed |= HistoryWriter(*earlier, loop).run();
  }
  return changed;
}

}  // namespace

bool ReuseForwardResiduals::run(Module& module) { return for_each_loop(module, keep_histories); }

}  // namespace systole::hlo
