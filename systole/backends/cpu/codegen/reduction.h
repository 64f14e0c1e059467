// The loop nests of everything that combines many elements into one: reductions, windows, products.
#pragma once

#include "systole/backends/cpu/codegen/loop_nest.h"

namespace systole::cpu {

// For every value of the `kept` variables, accumulators start as `initial`, `combine` takes an
// element of each value of the `reduced` variables into them, `finish` stores them. Kept and
// reduced variables are each given outermost first. The number of threads never changes a result.
struct Reduction {
  using Values = std::vector<llvm::Value*>;  // of all accumulators
  using Start = std::function<Values(Elements&)>;
  using Merge = std::function<Values(Elements&, const Values& so_far, const Values& others)>;

  const Thunk& thunk;
  std::vector<Slice> written;  // with the memory of parts, if any
  std::vector<int64_t> sizes;  // of the variables, from 0
  std::vector<Var> kept;
  std::vector<Var> reduced;
  std::vector<DType> accumulators;
  std::vector<Affine> needed;  // all forms that the functions below use
  double cost = 1;             // of one combine, in simple operations
  bool in_order = false;       // `reduced` from first to last; else as suits the memory
  Start initial;
  std::function<Values(Elements&, const Values& so_far)> combine;
  std::function<void(Elements&, const Values& result)> finish;
  std::vector<Slice> from_memory = {};  // arrays that no cache holds
};
void emit_reduction(FunctionEmitter& f, const Reduction& reduction);

// For operations without an identity: a long reduction takes several elements at a time, each from
// a segment of its own, whose accumulators start as its `first` element. `merge` takes those of a
// segment into those of the segments before it. In any order, the segments are interleaved:
// neighbours are taken side by side, in the lanes of vectors.
struct ReductionSegments {
  Reduction::Start first;
  Reduction::Merge merge;
  bool any_order = false;
};
void emit_reduction_in_segments(FunctionEmitter& f, const Reduction& reduction,
                                const ReductionSegments& segments);

// For operations that can be regrouped, such as sums: the elements are cut into parts, which
// threads and vector lanes reduce side by side. Each part has accumulators of its own, which start
// as `identity`; `merge` combines those of one part with those of another.
struct ReductionParts {
  Reduction::Start identity;
  Reduction::Merge merge;
  std::vector<Affine> forms;  // of one element
  std::vector<ElementAccess::Read> reads;
  // Room for the accumulators of kMaxParts parts; of 0 bytes for a reduction in one part.
  Slice scratch;
  int64_t results = 0;   // that `finish` stores
  Affine target;         // which of them it stores
  bool gathers = false;  // the rows of a row fusion are reduced
};
void emit_reduction_in_parts(FunctionEmitter& f, const Reduction& reduction,
                             const ReductionParts& parts);

constexpr int64_t kMaxParts = 32;
constexpr int64_t kPartBytes = 8;  // of one accumulator of one part

}  // namespace systole::cpu
