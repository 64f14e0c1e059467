// Loop nests over the variables of an index space. Loops merge where memory is contiguous; small
// ones are unrolled; large ones run in parallel.
#pragma once

#include "systole/backends/cpu/codegen/elements.h"

namespace systole::cpu {

// One loop for these variables, outermost first.
struct Loop {
  std::vector<Var> variables;
  int64_t size = 1;
  bool evenly = true;  // every affine form has a constant stride over the variables
};

// Returns the loops over `order`, outermost first. Adjacent loops merge if every affine form in
// `needed` has a constant stride over both. Variables of size 1 have no loop. With `rows`, the
// first loop has `rows` iterations and stands for the leading variables. REQUIRES: the product of
// their sizes is `rows`.
std::vector<Loop> merge_loops(const IndexSpace& space, std::span<const Var> order,
                              std::span<const Affine> needed, int64_t rows = 0);
int64_t iterations(std::span<const Loop> loops);

// Adds loop variables of these sizes, outermost first.
std::vector<Var> add_variables(IndexSpace& space, std::span<const int64_t> sizes);
std::vector<Affine> coordinates(std::span<const Var> variables);

// Binds the loop's variables to iteration `i`.
void bind_loop(Elements& e, const Loop& loop, llvm::Value* i);

// Emits all loops around `body`, which runs with every variable bound and no cached values. With
// `unroll`, innermost loops with few iterations are unrolled. `begin` and `end`, unless null, bound
// the first loop.
void emit_loops(Elements& e, std::span<const Loop> loops, llvm::Value* begin, llvm::Value* end,
                bool unroll, const std::function<void()>& body);
// Emits one copy of the body per iteration.
void emit_unrolled(Elements& e, std::span<const Loop> loops, const std::function<void()>& body);

// generate(g, begin, end) emits iterations [begin, end) of a loop of `size` into g. If `work`
// (about nanoseconds) is too small for threads, the loop is emitted in place with null bounds;
// otherwise as the body of a parallel loop.
using RangeCode = std::function<void(FunctionEmitter& g, llvm::Value* begin, llvm::Value* end)>;
void emit_parallel(FunctionEmitter& f, int64_t size, double work, const RangeCode& generate);
// Always emits a parallel loop body: for code that needs much stack memory.
void emit_parallel_body(FunctionEmitter& f, int64_t size, double work, const RangeCode& generate);

}  // namespace systole::cpu
