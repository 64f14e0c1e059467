#include <algorithm>

#include "systole/backends/cpu/analysis/attention_fusion.h"
#include "systole/backends/cpu/analysis/product_fusion.h"
#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/backends/cpu/codegen/loop_nest.h"
#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/backends/cpu/jit/jit.h"
#include "systole/backends/cpu/jit/memory_hints.h"
#include "systole/backends/cpu/kernels/sizes.h"

namespace systole::cpu {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

namespace {

// Elements that are computed before they are streamed: few, so that the next ones are read
// meanwhile.
constexpr int64_t kBlock = 256;
constexpr int64_t kDirectStep = 1024;  // elements that one thread does at least

// What is known of a loop before code is made for it.
struct Nest {
  std::vector<Loop> loops;
  double work = 0;             // nanoseconds, about
  std::vector<bool> streamed;  // by result
  size_t strip = 0;            // the loop that runs in blocks
  int64_t inside = 1;          // iterations of the loops in it
  // What is streamed can be stored where it belongs: the strip is the innermost loop, and fills
  // whole lines from its first element on.
  bool direct = false;
  std::vector<Slice> reads;

  bool streams() const { return std::ranges::find(streamed, true) != streamed.end(); }
};

// The innermost loops that fill a block of the results and walk through it element by element; the
// outermost of them is the one that runs in blocks. Nothing where there is no such loop.
bool choose_strip(const Affine& target, Nest& nest) {
  if (nest.loops.empty()) return false;
  size_t at = nest.loops.size();
  int64_t inside = 1;
  while (at > 0 && target.factor(nest.loops[at - 1].variables.back()) == inside) {
    --at;
    nest.strip = at;
    nest.inside = inside;
    inside *= nest.loops[at].size;
    if (inside >= kBlock / 2) return true;
  }
  return false;
}

// A store past the caches is fast only as part of a whole line that one thread writes: every run of
// the strip must begin and end with a line, wherever the outer loops are.
bool can_store_directly(const FunctionEmitter& f, const ElementLoop& loop, const Nest& nest,
                        const IndexSpace& space, const Affine& target) {
  const Loop& strip = nest.loops[nest.strip];
  if (nest.strip + 1 != nest.loops.size() || strip.size < kBlock) return false;
  for (size_t k = 0; k < loop.written.size(); ++k) {
    if (!nest.streamed[k]) continue;
    const auto whole = [&](int64_t elements) {
      return elements * loop.element_bytes[k] % kAlignment == 0;
    };
    if (!f.can_stream(loop.written[k], loop.element_bytes[k]) || !whole(target.constant))
      return false;
    for (const auto& [var, factor] : target.terms) {
      const bool outer =
          space.size(var) > 1 && std::ranges::find(strip.variables, var) == strip.variables.end();
      if (outer && !whole(factor)) return false;
    }
  }
  return true;
}

Nest plan_loops(const FunctionEmitter& f, const ElementLoop& loop) {
  Nest nest;
  ElementAccess access(loop.thunk);
  const std::vector<Var> variables = add_variables(access, loop.shape.dims());
  const IndexRef index = make_index(loop.shape, coordinates(variables));
  loop.visit(access, index);
  nest.loops = merge_loops(access, variables, access.needed(), f.rows.count);
  if (loop.parallel) {
    nest.work = 0.1 * static_cast<double>(loop.shape.num_elements()) *
                (access.cost() + static_cast<double>(access.reads().size()) + 1);
  }
  nest.streamed.assign(loop.written.size(), false);
  for (const ElementAccess::Read& read : access.reads()) nest.reads.push_back(f.slice(read.leaf));
  // The rows of a row fusion stay in a cache for the thunks that follow.
  if (!loop.target || f.rows.count > 0 || !f.program.optimize) return nest;
  const Affine target = loop.target(access, index);
  if (!choose_strip(target, nest)) return nest;
  for (size_t k = 0; k < loop.written.size(); ++k) {
    const Slice& written = loop.written[k];
    const int64_t bytes = loop.shape.num_elements() * loop.element_bytes[k];
    // What the loop updates in place is in a cache already: a store costs no more traffic.
    nest.streamed[k] =
        bytes >= f.program.target.streamed_bytes &&
        std::ranges::none_of(nest.reads, [&](const Slice& read) { return read.overlaps(written); });
  }
  nest.direct = nest.streams() && can_store_directly(f, loop, nest, access, target);
  return nest;
}

// The loops from nest.strip on, in blocks: results that are streamed go to a block of memory first.
void emit_blocks(Elements& e, const ElementLoop& loop, const Nest& nest, llvm::Value* begin,
                 llvm::Value* end, const std::function<IndexRef()>& index) {
  auto& f = e.f;
  auto& b = f.b;
  const Loop& strip = nest.loops[nest.strip];
  const int64_t step = std::max<int64_t>(kBlock / nest.inside, 1);
  std::vector<Slice> written = loop.written;
  for (size_t k = 0; k < written.size(); ++k) {
    if (nest.streamed[k]) written[k] = f.add_block(step * nest.inside * loop.element_bytes[k]);
  }
  f.begin_kernel(written);
  for (size_t k = 0; k < written.size(); ++k) {
    if (nest.streamed[k]) f.redirect(loop.written[k], written[k]);
  }
  if (begin == nullptr) {
    begin = f.i64(0);
    end = f.i64(strip.size);
  }
  llvm::Value* length = b.CreateSub(end, begin);
  llvm::Value* blocks = b.CreateUDiv(b.CreateAdd(length, f.i64(step - 1)), f.i64(step));
  f.loop(f.i64(0), blocks, [&](llvm::Value* i) {
    llvm::Value* first = b.CreateAdd(begin, b.CreateMul(i, f.i64(step)), "", false, true);
    llvm::Value* last =
        b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateAdd(first, f.i64(step)), end);
    bind_loop(e, strip, first);
    for (size_t k = nest.strip + 1; k < nest.loops.size(); ++k)
      bind_loop(e, nest.loops[k], f.i64(0));
    e.restart();
    llvm::Value* origin = e.number(loop.target(e, index()));
    for (size_t k = 0; k < written.size(); ++k) {
      if (nest.streamed[k]) f.set_origin(written[k], origin);
    }
    emit_loops(e, std::span(nest.loops).subspan(nest.strip), first, last, false,
               [&] { loop.store(e, index()); });
    llvm::Value* count = b.CreateMul(b.CreateSub(last, first), f.i64(nest.inside));
    for (size_t k = 0; k < written.size(); ++k) {
      if (nest.streamed[k]) f.stream(written[k], loop.written[k], loop.element_bytes[k], count);
    }
  });
}

// Iterations [begin, end) of the outermost loop, or all.
void emit_range(FunctionEmitter& g, const ElementLoop& loop, const Nest& nest, llvm::Value* begin,
                llvm::Value* end) {
  Elements e(g, loop.thunk);
  const std::vector<Var> variables = add_variables(e, loop.shape.dims());
  for (const Var var : variables) e.bind(var, nullptr);
  const auto index = [&] { return make_index(loop.shape, coordinates(variables)); };
  if (!nest.streams() || nest.direct) {
    g.begin_kernel(loop.written);
    emit_loops(e, nest.loops, begin, end, true, [&] { loop.store(e, index()); });
  } else if (nest.strip == 0) {
    emit_blocks(e, loop, nest, begin, end, index);
  } else {
    emit_loops(e, std::span(nest.loops).first(nest.strip), begin, end, false,
               [&] { emit_blocks(e, loop, nest, nullptr, nullptr, index); });
  }
  if (!nest.streams()) return;
  g.end_streams();
  g.begin_kernel({});
}

// The same with what is streamed stored where it belongs. Ranges of the strip itself begin with
// whole lines.
void emit_direct(FunctionEmitter& f, const ElementLoop& loop, const Nest& nest) {
  const int64_t size = nest.loops.front().size;
  const int64_t step = nest.strip == 0 ? kDirectStep : 1;
  const int64_t ranges = (size + step - 1) / step;
  emit_parallel(f, ranges, nest.work,
                [&](FunctionEmitter& g, llvm::Value* begin, llvm::Value* end) {
                  auto& b = g.b;
                  for (size_t k = 0; k < loop.written.size(); ++k) {
                    if (nest.streamed[k]) g.hint_streamed(loop.written[k]);
                  }
                  for (const Slice& read : nest.reads) g.hint_ahead(read, kAheadBytes);
                  if (begin != nullptr && step > 1) {
                    begin = b.CreateMul(begin, g.i64(step), "", true, true);
                    end = b.CreateMul(end, g.i64(step), "", true, true);
                    end = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, g.i64(size));
                  }
                  emit_range(g, loop, nest, begin, end);
                  g.clear_hints();
                });
}

// Returns whether the loop updates parts of arrays. What it leaves of them is where the results
// are, or is copied there.
bool copy_updated_arrays(FunctionEmitter& f, const Thunk& thunk) {
  if (!thunk.is_fusion()) return false;
  const std::vector<Slice> results = f.result_slices(thunk.instruction());
  const std::vector<Value> roots = thunk.roots();
  bool updates = false;
  for (size_t k = 0; k < roots.size(); ++k) {
    if (!roots[k].def->is(Opcode::dynamic_update_slice)) continue;
    updates = true;
    f.copy({f.slice(*thunk.leaf(roots[k].def->operand(0))), results[k]});
  }
  return updates;
}

}  // namespace

void emit_loop_over(FunctionEmitter& f, const ElementLoop& loop) {
  if (loop.shape.num_elements() == 0) return;
  const Nest nest = plan_loops(f, loop);
  if (nest.direct) return emit_direct(f, loop, nest);
  if (f.rows.count > 0) return emit_range(f, loop, nest, f.rows.begin, f.rows.end);
  emit_parallel(f, nest.loops.empty() ? 1 : nest.loops.front().size, nest.work,
                [&](FunctionEmitter& g, llvm::Value* begin, llvm::Value* end) {
                  emit_range(g, loop, nest, begin, end);
                });
}

void emit_element_loop(FunctionEmitter& f, const Instruction& x) {
  const Thunk thunk(x);
  const std::vector<Slice> results = f.result_slices(x);
  const std::vector<ResultPart> parts = result_parts(thunk);
  const bool updates = copy_updated_arrays(f, thunk);
  std::vector<int64_t> element_bytes;
  for (const TensorType& type : x.results()) element_bytes.push_back(size_of(type.dtype));
  ElementLoop loop{.thunk = thunk,
                   .shape = loop_shape(thunk),
                   .written = results,
                   .visit =
                       [&](ElementAccess& access, const IndexRef& index) {
                         access.need(index->offset());
                         for (const ResultPart& part : parts) {
                           access.visit(part.value, part.source(index));
                           access.need(part.destination(access, index));
                         }
                       },
                   .store =
                       [&](Elements& e, const IndexRef& index) {
                         // All reads come before the writes, which may go to the same memory.
                         std::vector<llvm::Value*> values;
                         for (const ResultPart& part : parts)
                           values.push_back(e.element(part.value, part.source(index)));
                         for (size_t k = 0; k < parts.size(); ++k) {
                           e.f.store(results[parts[k].result], parts[k].value.dtype(),
                                     e.number(parts[k].destination(e, index)), values[k]);
                         }
                       },
                   .element_bytes = element_bytes};
  if (parts.size() == results.size() && !updates)
    loop.target = [](IndexSpace&, const IndexRef& index) { return index->offset(); };
  emit_loop_over(f, loop);
}

void emit_fusion(FunctionEmitter& f, const Instruction& x) {
  const auto results = x.region().results();
  const bool reduces =
      std::ranges::any_of(results, [](const Value& v) { return v.def->is(Opcode::reduce); });
  if (is_product_fusion(x)) return emit_product_fusion(f, x);
  if (is_attention_fusion(x)) return emit_attention_fusion(f, x);
  if (is_row_fusion(x)) return emit_row_fusion(f, x);
  reduces ? emit_reduce(f, x) : emit_element_loop(f, x);
}

}  // namespace systole::cpu
