// The loop nest of everything that combines many elements into one: reductions, windows, products.
#pragma once

#include "systole/backends/cpu/codegen/loop_nest.h"

namespace systole::cpu {

// For every value of the `kept` variables, accumulators start as `initial`, `combine` takes an
// element of each value of the `reduced` variables into them, `finish` stores them. Kept and
// reduced variables are each given outermost first. The number of threads never changes a result.
struct Reduction {
  const Step& step;
  std::vector<Slice> written;
  std::vector<int64_t> sizes;  // of the variables, from 0
  std::vector<Var> kept;
  std::vector<Var> reduced;
  std::vector<DType> accumulators;
  std::vector<Affine> needed;  // all forms that the functions below use
  double cost = 1;             // of one combine, in simple operations
  bool in_order = false;       // `reduced` from first to last; else as suits the memory

  using Values = std::vector<llvm::Value*>;
  std::function<Values(Elements&)> initial;
  std::function<Values(Elements&, const Values& so_far)> combine;
  std::function<void(Elements&, const Values& result)> finish;

  // Where given, a long reduction is done in parts, each of which starts as `identity`; `merge`
  // takes one's accumulators into another's. Parts lie in `scratch`, at `target`, the offset of
  // what `finish` stores among `results` of them.
  std::function<Values(Elements&)> identity = nullptr;
  std::function<Values(Elements&, const Values& so_far, const Values& part)> merge = nullptr;
  std::function<Affine()> target = nullptr;
  int64_t results = 0;
  Slice scratch = {};
  bool gathers = false;  // rows, of a row fusion
  // Where given, a long reduction takes several elements at a time, each from a segment of its own,
  // for which the accumulators start as the element itself. For regions that are programs.
  std::function<Values(Elements&)> first = nullptr;
  bool any_order = false;               // then neighbours are taken side by side
  std::vector<Slice> from_memory = {};  // arrays that no cache holds
  // Where given, elements may be combined in any grouping: the forms of one element, and its reads.
  struct Element {
    std::vector<Affine> forms;
    std::vector<ElementAccess::Read> reads;
  };
  std::optional<Element> element = std::nullopt;
};

// Parts that a reduction of so many elements to so many results is done in, whatever the number of
// threads; 1 where it is not. `split` is how many loops' iterations threads can share without.
int64_t reduction_parts(int64_t elements, int64_t results, int64_t split);
constexpr int64_t kMaxParts = 32;
constexpr int64_t kPartBytes = 8;  // of one accumulator of one part

void emit_reduction(FunctionEmitter& f, const Reduction& reduction);

// What a reducer region does to accumulators: `arguments` are the new elements. One operation is
// done in registers, with leave to regroup; anything else is called.
Reduction::Values apply_reducer(Elements& e, const hlo::Computation& region,
                                const Reduction::Values& so_far,
                                const Reduction::Values& arguments);

}  // namespace systole::cpu
