// Small programs that cost a careless compiler much, and deep ones that end its stack.
#pragma once

#include <functional>
#include <string>

namespace systole::hlo::testing {

// `levels` functions that each call the next one twice, by `call` or `composite`: 2^levels ops.
std::string doubling_calls(int levels, bool composites = false);
// main calls f0, which calls f1, ..., `levels` deep.
std::string chain_of_calls(int levels);
// x + 1 + 1 + ..., `length` ops.
std::string chain_of_ops(int length);
// `length` ops, each of which reads four others: x, the last one, the first and the middle.
std::string fan_out(int length);
// A function for each level, whose loop body calls the next: loops `levels` x `nested` deep.
std::string loops_in_calls(int levels, int nested);
// `levels` loops within each other.
std::string nested_loops(int levels);
// A loop whose condition, and whose counter's step, are `levels` sums and conjunctions of the value
// before with itself: 2^levels terms.
std::string doubling_condition(int levels);
// A sort whose comparator computes its keys by `length` ops; with `doubling` each of them reads the
// one before twice.
std::string sort_with_long_comparator(int length, bool doubling);
// A branch, taken for sure, of `length` ops.
std::string chain_in_constant_branch(int length);
// A loop with a chain of `length` values that do not change, all of them larger than what the first
// is made of: only the last, a part of the one before, is worth moving out of the loop.
std::string chain_of_invariants(int length);
// `levels` concatenations, each of the one before with itself.
std::string doubling_concatenations(int levels);
// `count` constants of `elements`, each of which constant folding would compute.
std::string foldable_constants(int count, int elements);

// Runs `action` on a thread with a stack of `bytes`, and returns the text of its Error or "".
std::string on_stack_of(size_t bytes, const std::function<void()>& action);

}  // namespace systole::hlo::testing
