#include "systole/hlo/passes/recompute_loop_residuals.h"

#include <algorithm>
#include <vector>

#include "systole/hlo/analysis/counted_loop.h"
#include "systole/hlo/analysis/match.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/ir/builder.h"

namespace systole::hlo {
namespace {

// Instructions that cost less than reading an array.
constexpr int kMaxRecomputed = 4;

bool is_cheap_again(const Instruction& x) {
  return x.is(Opcode::add) || x.is(Opcode::subtract) || x.is(Opcode::multiply) ||
         x.is(Opcode::negate) || x.is(Opcode::maximum) || x.is(Opcode::minimum);
}

// What the row of a stack is a reshape of.
Value stacked_value(Value row) {
  const Instruction* const reshape = match(row, Opcode::reshape);
  return reshape == nullptr ? row : reshape->operand(0);
}

// A row of a stack of the earlier loop, read by the later one.
struct RowRead {
  Instruction* slice;
  Value stack;
  Linear written;  // by the earlier loop
  Linear at;
  Value value;  // of the earlier loop's body
};

class Recomputer {
 public:
  Recomputer(Instruction& earlier, Instruction& later) : earlier_(earlier) {
    const LoopCounters written(earlier);
    const LoopCounters read(later);
    for (Instruction* x : later.region(1).instructions()) {
      if (!x->is(Opcode::dynamic_slice)) continue;
      const auto row = match_row_read(x->result(), later, read);
      if (!row || row->array.def != &earlier) continue;
      const auto write = match_row_write(earlier, row->array.index, written);
      if (!write) continue;
      reads_.push_back({x, row->array, write->at, row->at, stacked_value(write->row)});
    }
  }

  bool run() {
    bool changed = false;
    // The last ones first: what they are computed from may be computed from others.
    for (size_t i = reads_.size(); i-- > 0;) {
      if (!is_only_reader(reads_[i])) continue;
      int instructions = 0;
      if (is_leaf(reads_[i].value) || !can_compute(reads_[i].value, reads_[i], instructions))
        continue;
      if (instructions > kMaxRecomputed) continue;
      compute(reads_[i]);
      reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(i));
      changed = true;
    }
    return changed;
  }

 private:
  bool is_only_reader(const RowRead& read) const {
    return std::ranges::all_of(read.stack.def->users(), [&](const Instruction* user) {
      const auto operands = user->operands();
      return user == read.slice || std::ranges::find(operands, read.stack) == operands.end();
    });
  }

  static bool is_leaf(Value value) {
    return value.def->is(Opcode::parameter) || value.def->is(Opcode::constant);
  }

  // The read of a row that holds the value, in the iteration in which `read` is.
  const RowRead* read_of(Value value, const RowRead& read) const {
    const auto found = std::ranges::find_if(reads_, [&](const RowRead& other) {
      return other.slice != read.slice && other.value == value && other.at == read.at &&
             other.written == read.written;
    });
    return found == reads_.end() ? nullptr : &*found;
  }

  bool can_compute(Value value, const RowRead& read, int& instructions) const {
    if (read_of(value, read) != nullptr) return true;
    const Instruction& x = *value.def;
    if (&x.parent() != &earlier_.region(1)) return false;
    if (x.is(Opcode::constant)) return x.shape().num_elements() == 1;
    if (x.is(Opcode::broadcast_in_dim))
      return x.operand(0).def->is(Opcode::constant) && x.operand(0).shape().num_elements() == 1;
    if (!is_cheap_again(x) || ++instructions > kMaxRecomputed) return false;
    return std::ranges::all_of(x.operands(), [&](const Value& operand) {
      return can_compute(operand, read, instructions);
    });
  }

  // Instead of reading the row.
  void compute(const RowRead& read) const {
    Computation& body = read.slice->parent();
    Builder b(body, read.slice);
    b.set_metadata(read.slice->metadata());
    ValueMap map;
    const Value value = copy(read.value, read, b, map);
    Computation::replace_all_uses(read.slice->result(), b.reshape(value, read.slice->shape()));
    body.erase(read.slice);
  }

  Value copy(Value value, const RowRead& read, Builder& b, ValueMap& map) const {
    if (const auto known = map.find(value); known != map.end()) return known->second;
    if (const RowRead* const leaf = read_of(value, read)) {
      return map[value] = b.reshape(row_of(*leaf, read, b), value.shape());
    }
    for (const Value& operand : value.def->operands()) copy(operand, read, b, map);
    copy_instruction(*value.def, map, read.slice->parent(), read.slice);
    return map.at(value);
  }

  // A read of its own: the other one may come later in the body.
  static Value row_of(const RowRead& leaf, const RowRead& read, Builder& b) {
    const Shape& shape = leaf.slice->shape();
    std::vector<Value> starts(static_cast<size_t>(shape.rank()),
                              b.scalar(read.slice->operand(1).dtype(), 0));
    starts[0] = read.slice->operand(1);
    return b.dynamic_slice(leaf.stack, starts, Dims(shape.begin(), shape.end()));
  }

  Instruction& earlier_;
  std::vector<RowRead> reads_;
};

bool recompute_residuals(Instruction& later) {
  std::vector<Instruction*> loops;
  for (const Value& value : captures(later)) {
    if (value.def->is(Opcode::while_) && &value.def->parent() == &later.parent() &&
        std::ranges::find(loops, value.def) == loops.end()) {
      loops.push_back(value.def);
    }
  }
  bool changed = false;
  for (Instruction* earlier : loops) changed = Recomputer(*earlier, later).run() || changed;
  return changed;
}

}  // namespace

bool RecomputeLoopResiduals::run(Module& module) {
  return for_each_loop(module, recompute_residuals);
}

}  // namespace systole::hlo
