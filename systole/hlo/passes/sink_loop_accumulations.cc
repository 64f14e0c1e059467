#include "systole/hlo/passes/sink_loop_accumulations.h"

#include <algorithm>
#include <numeric>

#include "systole/hlo/analysis/counted_loop.h"
#include "systole/hlo/analysis/match.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/replicas/in_turn.h"

namespace systole::hlo {
namespace {

// Products over more elements than this use the machine well in each iteration.
constexpr int64_t kMaxContracted = 512;

// An operand of a term, stacked over the iterations: an array from outside of which the body reads
// the rows, a result of the loop in which it writes them, or a stack to add.
struct Stacked {
  Value array;       // null: neither
  int written = -1;  // the carried value in which the loop writes the rows
  int added = -1;    // the index among the stacks to add
};

// carried = carried + term.
struct Sum {
  int carried = 0;
  Instruction* term = nullptr;
  std::vector<Stacked> operands;  // of the term: two of a product, one of a sum
};

bool only_user(Value value, const Instruction& user) {
  return value.def->num_results() == 1 && value.def->users().size() == 1 &&
         value.def->users()[0] == &user;
}

bool is_product(const Instruction& term) {
  if (!term.is(Opcode::dot_general)) return false;
  const auto& attrs = term.attrs<DotAttrs>();
  if (!attrs.lhs_batching_dimensions.empty()) return false;
  int64_t contracted = 1;
  for (const int64_t axis : attrs.lhs_contracting_dimensions) {
    contracted *= term.operand(0).shape()[static_cast<int>(axis)];
  }
  return contracted <= kMaxContracted;
}

bool is_sum(const Instruction& term) {
  return term.is(Opcode::reduce) && term.num_results() == 1 &&
         match_reducer(term.region()) == Opcode::add &&
         (is_splat(term.operand(1), 0.0) || is_splat(term.operand(1), -0.0));
}

class SumMover {
 public:
  explicit SumMover(Instruction& loop) : loop_(loop), counters_(loop) {}

  bool run() {
    if (loop_.metadata().name == replicas::kLoopOfReplicas) return false;
    if (counters_.trips().value_or(0) < 2) return false;
    // Any index that visits each row once will do for stacks that the loop does not have yet.
    for (const int64_t step : {1, -1}) {
      if (!fallback_ && counters_.parameter_of_step(step)) {
        fallback_ = step > 0 ? Linear{0, 1} : Linear{*counters_.trips() - 1, -1};
      }
    }
    if (!fallback_) return false;
    for (int i = 0; i < loop_.num_results(); ++i) consider(i);
    if (sums_.empty()) return false;
    move();
    return true;
  }

 private:
  void consider(int i) {
    const Computation& body = loop_.region(1);
    const Value carried = body.parameter(i);
    const Instruction* const add = match(body.results()[i], Opcode::add);
    if (add == nullptr || carried.dtype() == DType::pred || !only_user(carried, *add)) return;
    const Value other = add->operand(add->operand(0) == carried ? 1 : 0);
    if (&other.def->parent() != &body || !only_user(other, *add)) return;
    if (add->users().size() != 1) return;
    if (is_product(*other.def)) stack_operands(i, *other.def, 2);
    if (is_sum(*other.def)) stack_operands(i, *other.def, 1);
  }

  void stack_operands(int i, Instruction& term, int count) {
    const std::vector<Stack> before = stacks_;
    Sum sum{.carried = i, .term = &term};
    std::optional<Linear> at = index_of_reads(term, count);
    for (int k = 0; k < count; ++k) sum.operands.push_back(stacked(term.operand(k), *at));
    int64_t bytes = 0;
    for (const Stack& stack : stacks_) bytes += stack.rows * stack.value.type().byte_size();
    const bool outside = std::ranges::any_of(
        term.operands().first(static_cast<size_t>(count)),
        [&](const Value& value) { return &value.def->parent() != &loop_.region(1); });
    if (bytes > kMaxStackBytes || outside) {
      stacks_ = before;
      return;
    }
    sums_.push_back(std::move(sum));
  }

  // The index at which an operand is read from an array that has a row for each iteration, or
  // written to one.
  std::optional<Linear> index_of_reads(const Instruction& term, int count) const {
    for (int k = 0; k < count; ++k) {
      const auto read = match_row_read(row_behind(term.operand(k)), loop_, counters_);
      if (read && covers(read->at, read->array)) return read->at;
    }
    for (int k = 0; k < count; ++k) {
      for (int i = 0; i < loop_.num_results(); ++i) {
        const auto write = match_row_write(loop_, i, counters_);
        if (write && covers(write->at, write->array) && is_row_of(write->row, term.operand(k))) {
          return write->at;
        }
      }
    }
    return fallback_;
  }

  // Whether each row belongs to one iteration.
  bool covers(const Linear& at, Value array) const {
    return (at.step == 1 || at.step == -1) && array.shape()[0] == *counters_.trips() &&
           counters_.counter_for(at.step);
  }

  static bool is_row_of(Value row, Value value) {
    return row == row_behind(value) ||
           (match(row, Opcode::reshape) != nullptr && row.def->operand(0) == value &&
            row.shape().rank() == value.shape().rank() + 1);
  }

  Stacked stacked(Value value, const Linear& at) {
    const auto read = match_row_read(row_behind(value), loop_, counters_);
    if (row_behind(value) != value && read && read->at == at && covers(at, read->array)) {
      return {.array = read->array};
    }
    for (int i = 0; i < loop_.num_results(); ++i) {
      const auto write = match_row_write(loop_, i, counters_);
      if (write && write->at == at && covers(at, write->array) && write->row != value &&
          is_row_of(write->row, value)) {
        return {.array = {}, .written = i};
      }
    }
    for (size_t i = 0; i < stacks_.size(); ++i) {
      if (stacks_[i].value == value && stacks_[i].at == at) return {.added = static_cast<int>(i)};
    }
    stacks_.push_back({.value = value, .at = at, .rows = *counters_.trips()});
    return {.array = {}, .added = static_cast<int>(stacks_.size()) - 1};
  }

  void move() {
    // Terms are read while they are there: the new loop holds copies of them until they are dead.
    struct After {
      int carried;
      Opcode opcode;
      Attrs attrs;
      DType dtype;
      Metadata metadata;
      std::vector<Stacked> operands;
    };
    std::vector<After> after;
    for (Sum& sum : sums_) {
      after.push_back({sum.carried, sum.term->opcode(), sum.term->attrs(), sum.term->dtype(),
                       sum.term->metadata(), std::move(sum.operands)});
      std::vector<Value> next(loop_.region(1).results().begin(), loop_.region(1).results().end());
      next[sum.carried] = loop_.region(1).parameter(sum.carried);
      loop_.region(1).set_results(std::move(next));
    }
    const int first_stack = loop_.num_results();
    Computation& parent = loop_.parent();
    Instruction* const fresh = add_stacks(loop_, counters_, stacks_);
    const std::vector<Instruction*> program = parent.instructions();
    const auto place = std::ranges::find(program, fresh) + 1;
    for (const After& sum : after) {
      Builder b(parent, *place);
      b.set_metadata(sum.metadata);
      std::vector<Value> arrays;
      for (const Stacked& operand : sum.operands) {
        arrays.push_back(operand.array          ? operand.array
                         : operand.written >= 0 ? fresh->result(operand.written)
                                                : fresh->result(first_stack + operand.added));
      }
      const Value total = sum.opcode == Opcode::reduce
                              ? reduce_all(b, arrays[0], std::get<DimensionsAttrs>(sum.attrs))
                              : multiply_all(b, arrays, std::get<DotAttrs>(sum.attrs), sum.dtype);
      const Value initial = fresh->operand(sum.carried);
      // The first use of the loop's result is now this sum.
      const Value result = b.add(initial, total);
      Computation::replace_all_uses(fresh->result(sum.carried), result);
    }
  }

  static Dims with_iterations(Dims axes) {
    for (int64_t& axis : axes) ++axis;
    axes.insert(axes.begin(), 0);
    return axes;
  }

  static Value reduce_all(Builder& b, Value array, const DimensionsAttrs& attrs) {
    return b.reduce(array, Opcode::add, with_iterations(attrs.dimensions));
  }

  static Value multiply_all(Builder& b, const std::vector<Value>& arrays, DotAttrs attrs,
                            DType dtype) {
    attrs.lhs_contracting_dimensions = with_iterations(attrs.lhs_contracting_dimensions);
    attrs.rhs_contracting_dimensions = with_iterations(attrs.rhs_contracting_dimensions);
    return b.dot_general(arrays[0], arrays[1], std::move(attrs), dtype);
  }

  Instruction& loop_;
  LoopCounters counters_;
  std::optional<Linear> fallback_;
  std::vector<Stack> stacks_;
  std::vector<Sum> sums_;
};

}  // namespace

bool SinkLoopAccumulations::run(Module& module) {
  return for_each_loop(module, [](Instruction& loop) { return SumMover(loop).run(); });
}

}  // namespace systole::hlo
