#include "systole/hlo/passes/forward_loop_slices.h"

#include <algorithm>

#include "systole/hlo/analysis/counted_loop.h"
#include "systole/hlo/analysis/match.h"
#include "systole/hlo/ir/builder.h"

namespace systole::hlo {
namespace {

// The entry of a stack of an earlier loop's counter, as a function of this loop's iteration.
std::optional<Linear> stacked_counter(Value entry, const Instruction& loop,
                                      const LoopCounters& counters) {
  const Instruction* const reshape = match(entry, Opcode::reshape);
  if (reshape == nullptr || entry.shape().rank() != 0) return std::nullopt;
  const auto read = match_row_read(reshape->operand(0), loop, counters);
  if (!read || !read->array.def->is(Opcode::while_)) return std::nullopt;
  const Instruction& earlier = *read->array.def;
  const LoopCounters earlier_counters(earlier);
  const auto write = match_row_write(earlier, read->array.index, earlier_counters);
  if (!write || (write->at.step != 1 && write->at.step != -1)) return std::nullopt;
  if (earlier_counters.trips() != read->array.shape()[0]) return std::nullopt;
  const Instruction* const wrap = write->row.def;
  if (!wrap->is(Opcode::reshape) && !wrap->is(Opcode::broadcast_in_dim)) return std::nullopt;
  const std::optional<Linear> number = earlier_counters.linear(wrap->operand(0));
  if (!number) return std::nullopt;
  const Linear entry_of_row = by_row(*number, write->at);
  return Linear{entry_of_row.start + entry_of_row.step * read->at.start,
                entry_of_row.step * read->at.step};
}

bool compute_stacked_counters(const Instruction& loop, const LoopCounters& counters) {
  bool changed = false;
  for (Instruction* instruction : loop.region(1).instructions()) {
    if (!instruction->is(Opcode::reshape) || instruction->unused()) continue;
    const Value entry = instruction->result();
    const std::optional<Linear> number = stacked_counter(entry, loop, counters);
    if (!number) continue;
    const std::optional<int> counter = counters.parameter_of_step(number->step);
    if (!counter || loop.region(1).parameter(*counter).dtype() != entry.dtype()) continue;
    Computation::replace_all_uses(entry, build_index(loop, counters, *number, instruction));
    changed = true;
  }
  return changed;
}

// The reads of carried value i, if they all read the row that the iteration sets; empty otherwise.
std::vector<Instruction*> reads_before_writes(const Instruction& loop, int i,
                                              const LoopCounters& counters) {
  const Computation& body = loop.region(1);
  const auto write = match_row_update(loop, i, counters);
  if (!write || (write->at.step != 1 && write->at.step != -1)) return {};
  const Value array = write->array;
  const Instruction* const update = body.results()[i].def;
  std::vector<Instruction*> reads;
  for (Instruction* user : array.def->users()) {
    if (user == update) continue;
    const bool same_row = user->is(Opcode::dynamic_slice) && &user->parent() == &body &&
                          user->shape()[0] == 1 && counters.linear(user->operand(1)) == write->at;
    if (!same_row) return {};
    reads.push_back(user);
  }
  // The update itself may not use the array twice.
  if (std::ranges::count(array.def->users(), update) != 1) return {};
  return reads;
}

// Lets a dynamic_slice read another array of its operand's type; a splat needs no slice.
void read_from(Instruction& read, Value array) {
  const Tensor* const element = splat_of(array);
  if (element == nullptr) return read.set_operand(0, array);
  Builder b(read.parent(), &read);
  b.set_metadata(read.metadata());
  const Value scalar = b.constant(element->reshape({}));
  Computation::replace_all_uses(read.result(), b.broadcast_in_dim(scalar, read.shape(), {}));
}

bool read_initial_rows(const Instruction& loop, const LoopCounters& counters) {
  bool changed = false;
  for (int i = 0; i < loop.num_results(); ++i) {
    for (Instruction* read : reads_before_writes(loop, i, counters)) {
      read_from(*read, loop.operand(i));
      changed = true;
    }
  }
  return changed;
}

bool simplify_rows(Instruction& loop) {
  const LoopCounters counters(loop);
  if (counters.trips().value_or(0) < 1) return false;
  const bool computed = compute_stacked_counters(loop, counters);
  return read_initial_rows(loop, counters) || computed;
}

}  // namespace

bool ForwardLoopSlices::run(Module& module) { return for_each_loop(module, simplify_rows); }

}  // namespace systole::hlo
