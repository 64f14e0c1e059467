// Loops that count, and edits of what loops carry. Shared by the passes over loops.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// A number that changes by the same step in each iteration: start + step * iteration.
struct Linear {
  int64_t start = 0;
  int64_t step = 0;

  int64_t at(int64_t iteration) const { return start + step * iteration; }
  friend bool operator==(const Linear&, const Linear&) = default;
};

// What is known at compile time about the counters of a `while`. Valid until the loop changes.
class LoopCounters {
 public:
  explicit LoopCounters(const Instruction& loop);

  // The number of iterations; nullopt unless the condition compares counters with constants.
  std::optional<int64_t> trips() const { return trips_; }
  // An integer scalar of the body (or a constant) as a function of the iteration.
  std::optional<Linear> linear(Value value) const;
  // A parameter of the body that is linear with this step.
  std::optional<int> parameter_of_step(int64_t step) const;
  // The same with this step or its negative: of such a counter, build_index() makes an index.
  std::optional<int> counter_for(int64_t step) const;

 private:
  void find_counters();
  std::optional<Linear> linear(Value value, int& terms) const;
  std::optional<int64_t> trips_of(Value condition, int& terms) const;
  std::optional<int64_t> trips_of_comparison(const Instruction& compare) const;

  const Instruction& loop_;
  std::vector<std::optional<Linear>> carried_;
  std::optional<int64_t> trips_;
};

// `number` as a function of the row that its iteration accesses: start + step * row. REQUIRES:
// row.step is 1 or -1.
Linear by_row(const Linear& number, const Linear& row);

// One row of an array, [1, ...], read or written at a linear index that stays within the array.
struct RowAccess {
  Value array;  // what is read; the array before the update
  Value row;    // the result of the read; the update
  Value index;
  Linear at;
};
// `value` as a dynamic_slice of one row of an array from outside the loop, whole in all other axes.
std::optional<RowAccess> match_row_read(Value value, const Instruction& loop,
                                        const LoopCounters& counters);
// Carried value i as an array of which each iteration sets one row.
std::optional<RowAccess> match_row_update(const Instruction& loop, int i,
                                          const LoopCounters& counters);
// The same for an array that the body does not read.
std::optional<RowAccess> match_row_write(const Instruction& loop, int i,
                                         const LoopCounters& counters);

// Whether the loop sets every row of carried value i and reads none, so that its initial value does
// not matter.
bool overwrites_carried(const Instruction& loop, int i, const LoopCounters& counters);

// A row, or what a reshape without the first axis makes of it, as that row.
Value row_behind(Value value);

// The index `at` as a value before `before`, an instruction of the body. REQUIRES:
// counters.counter_for(at.step).
Value build_index(const Instruction& loop, const LoopCounters& counters, const Linear& at,
                  Instruction* before);

// Passes add no more than this to what a loop carries.
inline constexpr int64_t kMaxStackBytes = int64_t{256} << 20;

// A stack of values of the body, one entry per iteration.
struct Stack {
  Value value;   // of the body
  Linear at;     // the row of an iteration
  int64_t rows;  // of the stack, which begins as zeros
};
// Replaces the loop by one that also carries these stacks; values of the old loop are invalid
// afterwards. Returns the new loop, whose last results are the stacks [rows, ...].
Instruction* add_stacks(Instruction& loop, const LoopCounters& counters,
                        const std::vector<Stack>& stacks);

// Calls `visit` for every `while` of a module, inner ones first. `visit` may replace the loop.
// Returns whether any call did.
bool for_each_loop(Module& module, const std::function<bool(Instruction& loop)>& visit);

}  // namespace systole::hlo
