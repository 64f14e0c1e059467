// Loops over the variables of an index space: merged where memory is walked through evenly, small
// ones unrolled, large ones split over the threads.
#pragma once

#include "systole/backends/cpu/codegen/elements.h"

namespace systole::cpu {

// One loop that stands for these variables, the outermost first.
struct Loop {
  std::vector<Var> variables;
  int64_t size = 1;
  bool evenly = true;  // every form steps evenly through the variables
};

// The loops over `order` (outermost first). Neighbours become one where every affine form in
// `needed` steps through them evenly. Variables of size 1 have no loop. With `rows`, the first loop
// has as many iterations and stands for the leading variables. REQUIRES: their sizes' product is
// that.
std::vector<Loop> merge_loops(const IndexSpace& space, std::span<const Var> order,
                              std::span<const Affine> needed, int64_t rows = 0);
int64_t iterations(std::span<const Loop> loops);

// Adds loop variables of these sizes, outermost first.
std::vector<Var> add_variables(IndexSpace& space, std::span<const int64_t> sizes);
std::vector<Affine> coordinates(std::span<const Var> variables);

// Makes the loop's variables stand for iteration `i`.
void bind_loop(Elements& e, const Loop& loop, llvm::Value* i);

// All loops around `body`, which runs with every variable bound and nothing remembered. With
// `unroll` the innermost are written out while they have few iterations. `begin` and `end`, when
// not null, bound the first loop.
void emit_loops(Elements& e, std::span<const Loop> loops, llvm::Value* begin, llvm::Value* end,
                bool unroll, const std::function<void()>& body);
// As many copies of the body, one for each iteration of the loops.
void emit_unrolled(Elements& e, std::span<const Loop> loops, const std::function<void()>& body);

// generate(g, begin, end) emits the iterations [begin, end) of a loop of `size` into the function
// g: in place, and with null bounds, when the loop's `work` (about nanoseconds) does not pay for
// threads, else as the body of a parallel loop.
using RangeCode = std::function<void(FunctionEmitter& g, llvm::Value* begin, llvm::Value* end)>;
void emit_parallel(FunctionEmitter& f, int64_t size, double work, const RangeCode& generate);
// As the body of a parallel loop in any case: for code that needs much memory of its own.
void emit_parallel_body(FunctionEmitter& f, int64_t size, double work, const RangeCode& generate);

}  // namespace systole::cpu
