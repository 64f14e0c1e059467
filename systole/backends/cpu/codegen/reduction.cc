#include "systole/backends/cpu/codegen/reduction.h"

#include <algorithm>

#include "systole/backends/cpu/codegen/wide_rows.h"
#include "systole/backends/cpu/jit/memory_hints.h"
#include "systole/hlo/ir/builder.h"

namespace systole::cpu {
namespace {

constexpr int64_t kUnrolled = 8;         // combines that are written out rather than looped over
constexpr int64_t kAccumulators = 1024;  // accumulators that stay in the first-level cache
constexpr int64_t kUsefulLoop = 16;      // iterations that are worth vectorising
constexpr int64_t kPartElements = 16 * 1024;  // that are worth a part
constexpr int64_t kFewResults = 64 * 1024;
constexpr int64_t kSegments = 16;  // accumulated side by side
constexpr int64_t kSegment = 64;   // elements
constexpr int64_t kFewLanes = 16;  // accumulators of neighbours, in an order that is left open
constexpr int64_t kLanes = 64;     // in long rows
constexpr int64_t kRun = 4096;     // elements summed up before their sum is added to others

// Emits body(i) for i = begin, begin + step, ... as long as a whole step fits before `end`. Returns
// where it ends.
llvm::Value* emit_steps_of(FunctionEmitter& f, llvm::Value* begin, llvm::Value* end, int64_t step,
                           const std::function<void(llvm::Value*)>& body) {
  auto& b = f.b;
  llvm::Value* number = b.CreateUDiv(b.CreateSub(end, begin), f.i64(step));
  const auto at = [&](llvm::Value* i) {
    return b.CreateAdd(begin, b.CreateMul(i, f.i64(step), "", true, true), "", true, true);
  };
  llvm::Value* rest = at(number);
  f.if_then(b.CreateICmpSGT(number, f.i64(0)),
            [&] { f.loop(f.i64(0), number, [&](llvm::Value* i) { body(at(i)); }); });
  return rest;
}

// The loops of a reduction, and which of them goes innermost.
class ReductionEmitter {
 public:
  ReductionEmitter(FunctionEmitter& f, const Reduction& r) : f_(f), r_(r) {
    struct Sizes : ElementAccess {
      using ElementAccess::ElementAccess;
    } space(r.step);
    add_variables(space, r.sizes);
    kept_ = merge_loops(space, r.kept, r.needed, r.gathers ? 0 : f.rows.count);
    reduced_ = merge_loops(space, r.reduced, r.needed, r.gathers ? f.rows.count : 0);
    if (!choose_wide_rows()) choose_inner();
  }

  void emit();

 private:
  bool choose_wide_rows();
  void choose_inner();
  void emit_range(FunctionEmitter& g, const std::function<void(Elements&)>& range) const;
  void nest(Elements& e, llvm::Value* begin, llvm::Value* end);
  void in_parts(int64_t parts, double work);
  void merge_parts(Elements& e, int64_t parts);
  void for_each_result(Elements& e, const std::function<void()>& body);
  llvm::Value* part_place(FunctionEmitter& g, size_t accumulator, llvm::Value* part,
                          llvm::Value* offset) const;
  void gather(Elements& e);
  void in_segments(Elements& e, std::span<llvm::AllocaInst* const> total);
  void in_lanes(Elements& e, std::span<llvm::AllocaInst* const> total);
  void take_rest(Elements& e, int64_t begin, std::span<llvm::AllocaInst* const> total);
  Reduction::Values start(Elements& e) const;
  Reduction::Values load_part(Elements& e, llvm::Value* part) const;
  void store_part(Elements& e, const Reduction::Values& values) const;
  void finish(Elements& e, const Reduction::Values& values) const;
  void reduce_loops(Elements& e, bool unroll, const std::function<void()>& body);
  void in_runs(Elements& e, std::span<llvm::AllocaInst* const> total);
  double fitness(const Loop& loop) const;
  void in_registers(Elements& e);
  void in_row(Elements& e, llvm::Value* begin, llvm::Value* end);
  void row_block(Elements& e, llvm::Value* begin, llvm::Value* count);
  void around_last_loop(Elements& e,
                        const std::function<void(llvm::Value*, llvm::Value*)>& body) const;
  void in_wide_rows(Elements& e);
  void repeat(Elements& e, const ElementAccess::Read& read);
  void along_row(Elements& e, int64_t count, const std::function<void(llvm::Value*)>& body) const;
  void accumulate(Elements& e, std::span<llvm::AllocaInst* const> memory, llvm::Value* offset);
  std::vector<llvm::AllocaInst*> memory(FunctionEmitter& g, int64_t count) const;
  Reduction::Values load(Elements& e, std::span<llvm::AllocaInst* const> memory,
                         llvm::Value* offset) const;
  void store(Elements& e, std::span<llvm::AllocaInst* const> memory, llvm::Value* offset,
             const Reduction::Values& values) const;

  FunctionEmitter& f_;
  const Reduction& r_;
  std::vector<Loop> kept_;
  std::vector<Loop> reduced_;
  std::optional<Loop> row_;  // the kept loop that goes innermost, if one does; it is not in kept_
  std::optional<WideRows> wide_;  // of row_ and the last reduced loop
  // The part of the outermost reduced loop that is being emitted.
  struct Part {
    llvm::Value* number;
    llvm::Value* begin;
    llvm::Value* end;
  };
  std::optional<Part> part_;
};

// How many of the forms walk through memory element by element, or stay, along the loop.
double ReductionEmitter::fitness(const Loop& loop) const {
  double score = 0;
  for (const Affine& x : r_.needed) {
    const int64_t step = x.factor(loop.variables.back());
    score += step == 0 || step == 1 ? 1 : std::abs(step) <= 4 ? 0.5 : 0;
  }
  return score * (loop.size >= kUsefulLoop ? 100 : 1);
}

bool ReductionEmitter::choose_wide_rows() {
  // Rows of a row fusion stay outermost.
  const size_t outermost = f_.rows.count > 0 && !r_.gathers ? 1 : 0;
  if (!r_.element || kept_.size() <= outermost || reduced_.empty()) return false;
  wide_ = plan_wide_rows(kept_.back(), reduced_.back(), r_.element->forms, r_.element->reads,
                         static_cast<int>(r_.sizes.size()));
  if (!wide_) return false;
  row_ = kept_.back();
  kept_.pop_back();
  return true;
}

void ReductionEmitter::choose_inner() {
  double best = -1;
  int best_kept = -1;
  int best_reduced = -1;
  // Rows stay outermost.
  const size_t rows = f_.rows.count > 0 ? 1 : 0;
  for (size_t i = r_.gathers ? 0 : rows; i < kept_.size(); ++i) {
    if (fitness(kept_[i]) < best) continue;
    best = fitness(kept_[i]);
    best_kept = static_cast<int>(i);
  }
  for (size_t i = r_.gathers ? rows : 0; i < reduced_.size(); ++i) {
    if (r_.in_order && i + 1 < reduced_.size()) continue;
    if (fitness(reduced_[i]) <= best) continue;
    best = fitness(reduced_[i]);
    best_reduced = static_cast<int>(i);
  }
  if (best_reduced >= 0) {
    std::rotate(reduced_.begin() + best_reduced, reduced_.begin() + best_reduced + 1,
                reduced_.end());
  } else if (best_kept >= 0) {
    row_ = kept_[static_cast<size_t>(best_kept)];
    kept_.erase(kept_.begin() + best_kept);
  }
}

std::vector<llvm::AllocaInst*> ReductionEmitter::memory(FunctionEmitter& g, int64_t count) const {
  std::vector<llvm::AllocaInst*> result;
  for (const DType dtype : r_.accumulators)
    result.push_back(g.local(register_type(g.program.context(), dtype), count));
  return result;
}

Reduction::Values ReductionEmitter::load(Elements& e, std::span<llvm::AllocaInst* const> memory,
                                         llvm::Value* offset) const {
  Reduction::Values values;
  for (size_t k = 0; k < memory.size(); ++k) {
    llvm::Type* type = register_type(e.f.program.context(), r_.accumulators[k]);
    values.push_back(e.f.b.CreateLoad(type, e.f.b.CreateInBoundsGEP(type, memory[k], offset)));
  }
  return values;
}

void ReductionEmitter::store(Elements& e, std::span<llvm::AllocaInst* const> memory,
                             llvm::Value* offset, const Reduction::Values& values) const {
  for (size_t k = 0; k < memory.size(); ++k) {
    llvm::Type* type = register_type(e.f.program.context(), r_.accumulators[k]);
    e.f.b.CreateStore(values[k], e.f.b.CreateInBoundsGEP(type, memory[k], offset));
  }
}

void ReductionEmitter::accumulate(Elements& e, std::span<llvm::AllocaInst* const> memory,
                                  llvm::Value* offset) {
  store(e, memory, offset, r_.combine(e, load(e, memory, offset)));
}

// One set of accumulators at a time: the reduced loops are innermost, or few enough to be written
// out.
void ReductionEmitter::in_registers(Elements& e) {
  const auto accumulators = memory(e.f, 1);
  e.restart();
  store(e, accumulators, e.f.i64(0), start(e));
  if (part_ && reduced_.size() == 1) {
    in_runs(e, accumulators);
  } else if (r_.any_order && reduced_.size() == 1 && reduced_[0].size >= 4 * kFewLanes) {
    in_lanes(e, accumulators);
  } else if (r_.first && reduced_.size() == 1 && reduced_[0].size >= kSegments * kSegment) {
    in_segments(e, accumulators);
  } else {
    reduce_loops(e, true, [&] { accumulate(e, accumulators, e.f.i64(0)); });
  }
  e.restart();
  finish(e, load(e, accumulators, e.f.i64(0)));
}

// All reduced loops, or the part of them.
void ReductionEmitter::reduce_loops(Elements& e, bool unroll, const std::function<void()>& body) {
  if (part_) {
    emit_loops(e, reduced_, part_->begin, part_->end, unroll, body);
  } else if (unroll && iterations(reduced_) <= kUnrolled) {
    emit_unrolled(e, reduced_, body);
  } else {
    emit_loops(e, reduced_, nullptr, nullptr, unroll, body);
  }
}

// A part of one loop: its elements are summed up run by run, so that no sum is of very many.
void ReductionEmitter::in_runs(Elements& e, std::span<llvm::AllocaInst* const> total) {
  auto& b = e.f.b;
  const auto run = memory(e.f, 1);
  llvm::Value* zero = e.f.i64(0);
  llvm::Value* length = b.CreateSub(part_->end, part_->begin);
  llvm::Value* runs = b.CreateUDiv(b.CreateAdd(length, e.f.i64(kRun - 1)), e.f.i64(kRun));
  e.f.loop(zero, runs, [&](llvm::Value* i) {
    llvm::Value* first = b.CreateAdd(part_->begin, b.CreateMul(i, e.f.i64(kRun)), "", false, true);
    llvm::Value* last = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin,
                                                b.CreateAdd(first, e.f.i64(kRun)), part_->end);
    e.restart();
    store(e, run, zero, r_.identity(e));
    emit_loops(e, reduced_, first, last, false, [&] { accumulate(e, run, zero); });
    e.restart();
    store(e, total, zero, r_.merge(e, load(e, total, zero), load(e, run, zero)));
  });
}

Reduction::Values ReductionEmitter::start(Elements& e) const {
  if (!part_) return r_.initial(e);
  return r_.gathers ? load_part(e, part_->number) : r_.identity(e);
}

Reduction::Values ReductionEmitter::load_part(Elements& e, llvm::Value* part) const {
  llvm::Value* offset = e.number(r_.target());
  Reduction::Values values;
  for (size_t k = 0; k < r_.accumulators.size(); ++k) {
    llvm::Type* type = register_type(e.f.program.context(), r_.accumulators[k]);
    llvm::Instruction* value = e.f.b.CreateLoad(type, part_place(e.f, k, part, offset));
    e.f.tag(value, r_.scratch, false);
    values.push_back(value);
  }
  return values;
}

void ReductionEmitter::store_part(Elements& e, const Reduction::Values& values) const {
  llvm::Value* offset = e.number(r_.target());
  for (size_t k = 0; k < values.size(); ++k) {
    e.f.tag(e.f.b.CreateStore(values[k], part_place(e.f, k, part_->number, offset)), r_.scratch,
            true);
  }
}

// Reduces the elements in order, except those taken first. Every segment has its own accumulators,
// which advance together as a vector; they are merged in segment order.
void ReductionEmitter::in_segments(Elements& e, std::span<llvm::AllocaInst* const> total) {
  auto& f = e.f;
  const Loop& loop = reduced_[0];
  constexpr int64_t kAllSegments = kSegments * kSegment;
  const auto segments = memory(f, kSegments);
  // body(s) at element `at` of every segment.
  const auto along = [&](llvm::Value* at, const std::function<void(llvm::Value*)>& body) {
    f.loop(kSegments, [&](llvm::Value* s) {
      llvm::Value* i = f.b.CreateMul(s, f.i64(kSegment), "", true, true);
      bind_loop(e, loop, f.b.CreateAdd(at, i, "", true, true));
      e.restart();
      body(s);
    });
  };
  f.loop(loop.size / kAllSegments, [&](llvm::Value* k) {
    llvm::Value* begin = f.b.CreateMul(k, f.i64(kAllSegments), "", true, true);
    along(begin, [&](llvm::Value* s) { store(e, segments, s, r_.first(e)); });
    f.loop(f.i64(1), f.i64(kSegment), [&](llvm::Value* i) {
      along(f.b.CreateAdd(begin, i, "", true, true),
            [&](llvm::Value* s) { accumulate(e, segments, s); });
    });
    f.loop(kSegments, [&](llvm::Value* s) {
      e.restart();
      const Reduction::Values merged = r_.merge(e, load(e, total, f.i64(0)), load(e, segments, s));
      store(e, total, f.i64(0), merged);
    });
  });
  take_rest(e, loop.size / kAllSegments * kAllSegments, total);
}

// Neighbours go to accumulators of their own, so that they are taken a vector at a time; these are
// merged a half with the other half.
void ReductionEmitter::in_lanes(Elements& e, std::span<llvm::AllocaInst* const> total) {
  constexpr int64_t kMin = 4;  // that are merged by vectors
  auto& f = e.f;
  const Loop& loop = reduced_[0];
  const int64_t lanes = loop.size >= 4 * kLanes ? kLanes : kFewLanes;
  const auto running = memory(f, lanes);
  const auto side_by_side = [&](llvm::Value* at, const std::function<void(llvm::Value*)>& body) {
    f.loop(lanes, [&](llvm::Value* lane) {
      bind_loop(e, loop, f.b.CreateAdd(at, lane, "", true, true));
      e.restart();
      body(lane);
    });
  };
  side_by_side(f.i64(0), [&](llvm::Value* lane) { store(e, running, lane, r_.first(e)); });
  f.loop(f.i64(1), f.i64(loop.size / lanes), [&](llvm::Value* k) {
    side_by_side(f.b.CreateMul(k, f.i64(lanes), "", true, true),
                 [&](llvm::Value* lane) { accumulate(e, running, lane); });
  });
  for (int64_t half = lanes / 2; half >= kMin; half /= 2) {
    f.loop(half, [&](llvm::Value* lane) {
      e.restart();
      llvm::Value* other = f.b.CreateAdd(lane, f.i64(half), "", true, true);
      store(e, running, lane, r_.merge(e, load(e, running, lane), load(e, running, other)));
    });
  }
  for (int64_t lane = 0; lane < kMin; ++lane) {
    e.restart();
    store(e, total, f.i64(0), r_.merge(e, load(e, total, f.i64(0)), load(e, running, f.i64(lane))));
  }
  take_rest(e, loop.size / lanes * lanes, total);
}

// The elements from `begin` on, one by one.
void ReductionEmitter::take_rest(Elements& e, int64_t begin,
                                 std::span<llvm::AllocaInst* const> total) {
  const Loop& loop = reduced_[0];
  if (begin == loop.size) return;
  e.f.loop(e.f.i64(begin), e.f.i64(loop.size), [&](llvm::Value* i) {
    bind_loop(e, loop, i);
    e.restart();
    accumulate(e, total, e.f.i64(0));
  });
}

void ReductionEmitter::finish(Elements& e, const Reduction::Values& values) const {
  if (part_) {
    store_part(e, values);
  } else {
    r_.finish(e, values);
  }
}

// Accumulators of one kind side by side, part after part.
llvm::Value* ReductionEmitter::part_place(FunctionEmitter& g, size_t accumulator, llvm::Value* part,
                                          llvm::Value* offset) const {
  auto& b = g.b;
  llvm::Value* memory = b.CreateConstInBoundsGEP1_64(
      b.getInt8Ty(), g.address(r_.scratch),
      accumulator * static_cast<uint64_t>(kMaxParts * r_.results * kPartBytes));
  llvm::Value* at = b.CreateAdd(b.CreateMul(part, g.i64(r_.results)), offset, "", true, true);
  return b.CreateInBoundsGEP(register_type(g.program.context(), r_.accumulators[accumulator]),
                             memory, at);
}

// Many accumulators at once, for `count` iterations of the row from `begin`: all pass over them,
// then the next reduced element.
void ReductionEmitter::row_block(Elements& e, llvm::Value* begin, llvm::Value* count) {
  // Accumulators of a row fusion's parts keep their values from the previous rows.
  const bool in_place = part_ && r_.gathers;
  const auto accumulators = in_place ? std::vector<llvm::AllocaInst*>{}
                                     : memory(e.f, std::min(kAccumulators, row_->size));
  const auto along_row = [&](const std::function<void(llvm::Value*)>& body) {
    e.f.loop(e.f.i64(0), count, [&](llvm::Value* i) {
      bind_loop(e, *row_, e.f.b.CreateAdd(begin, i, "", true, true));
      e.restart();
      body(i);
    });
  };
  if (!in_place) along_row([&](llvm::Value* i) { store(e, accumulators, i, start(e)); });
  // Several reduced elements in one pass save loads and stores of the accumulators.
  const Loop& inner = reduced_.back();
  const int64_t together = std::min<int64_t>(inner.size, 4);
  const auto pass = [&](llvm::Value* first, int64_t number) {
    along_row([&](llvm::Value* i) {
      Reduction::Values values = in_place ? load_part(e, part_->number) : load(e, accumulators, i);
      for (int64_t k = 0; k < number; ++k) {
        bind_loop(e, inner, e.f.b.CreateAdd(first, e.f.i64(k), "", true, true));
        e.restart();
        values = r_.combine(e, values);
      }
      if (in_place) {
        store_part(e, values);
      } else {
        store(e, accumulators, i, values);
      }
    });
  };
  const auto passes = [&](llvm::Value* first, llvm::Value* end) {
    llvm::Value* rest =
        emit_steps_of(e.f, first, end, together, [&](llvm::Value* i) { pass(i, together); });
    emit_steps_of(e.f, rest, end, 1, [&](llvm::Value* i) { pass(i, 1); });
  };
  around_last_loop(e, passes);
  if (!in_place) along_row([&](llvm::Value* i) { finish(e, load(e, accumulators, i)); });
}

// The reduced loops around body(begin, end), which does these iterations of the last of them.
void ReductionEmitter::around_last_loop(
    Elements& e, const std::function<void(llvm::Value*, llvm::Value*)>& body) const {
  const std::span<const Loop> outer(reduced_.data(), reduced_.size() - 1);
  if (part_ && outer.empty()) {
    body(part_->begin, part_->end);
  } else {
    emit_loops(e, outer, part_ ? part_->begin : nullptr, part_ ? part_->end : nullptr, false,
               [&] { body(e.f.i64(0), e.f.i64(reduced_.back().size)); });
  }
}

// Makes a copy of the elements that one row reads for each row of a wide one, and reads that from
// now on.
void ReductionEmitter::repeat(Elements& e, const ElementAccess::Read& read) {
  auto& f = e.f;
  const DType dtype = read.leaf.dtype();
  const Slice copies = f.add_block(wide_->rows * row_->size * size_of(dtype));
  f.set_origin(copies, f.i64(0));
  f.loop(wide_->rows, [&](llvm::Value* k) {
    llvm::Value* first = f.b.CreateMul(k, f.i64(row_->size), "", true, true);
    along_row(e, row_->size, [&](llvm::Value* i) {
      llvm::Value* element = f.load(read.leaf, e.number(read.offset));
      f.store(copies, dtype, f.b.CreateAdd(first, i, "", true, true), element);
    });
  });
  bind_loop(e, *row_, f.i64(0));
  e.restart();
  f.set_origin(copies, e.number(read.offset));
  f.place(read.leaf, copies);
}

void ReductionEmitter::along_row(Elements& e, int64_t count,
                                 const std::function<void(llvm::Value*)>& body) const {
  e.f.loop(count, [&](llvm::Value* i) {
    bind_loop(e, *row_, i);
    e.restart();
    body(i);
  });
}

// As row_block, with several iterations of the last reduced loop side by side. Whatever is read
// lies so that element `i` of the row that begins at an iteration, for an `i` beyond the row, is
// the element of a later iteration.
void ReductionEmitter::in_wide_rows(Elements& e) {
  auto& f = e.f;
  const Loop& inner = reduced_.back();
  const int64_t lanes = wide_->rows * row_->size;
  const auto sums = memory(f, lanes);
  along_row(e, lanes, [&](llvm::Value* i) { store(e, sums, i, r_.identity(e)); });
  std::vector<Slice> arrays;
  for (const ElementAccess::Read& read : wide_->repeated) {
    arrays.push_back(f.slice(read.leaf));
    repeat(e, read);
  }
  const auto pass = [&](llvm::Value* first, int64_t number, int64_t count) {
    along_row(e, count, [&](llvm::Value* i) {
      Reduction::Values values = load(e, sums, i);
      for (int64_t k = 0; k < number; ++k) {
        bind_loop(e, inner, f.b.CreateAdd(first, f.i64(k * wide_->rows), "", true, true));
        e.restart();
        values = r_.combine(e, values);
      }
      store(e, sums, i, values);
    });
  };
  around_last_loop(e, [&](llvm::Value* begin, llvm::Value* end) {
    constexpr int64_t kTogether = 4;  // save loads and stores of the accumulators
    llvm::Value* rest = emit_steps_of(f, begin, end, kTogether * wide_->rows,
                                      [&](llvm::Value* i) { pass(i, kTogether, lanes); });
    rest = emit_steps_of(f, rest, end, wide_->rows, [&](llvm::Value* i) { pass(i, 1, lanes); });
    emit_steps_of(f, rest, end, 1, [&](llvm::Value* i) { pass(i, 1, row_->size); });
  });
  for (size_t k = 0; k < arrays.size(); ++k) f.place(wide_->repeated[k].leaf, arrays[k]);
  f.loop(f.i64(1), f.i64(wide_->rows), [&](llvm::Value* k) {
    llvm::Value* first = f.b.CreateMul(k, f.i64(row_->size), "", true, true);
    along_row(e, row_->size, [&](llvm::Value* i) {
      llvm::Value* other = f.b.CreateAdd(first, i, "", true, true);
      store(e, sums, i, r_.merge(e, load(e, sums, i), load(e, sums, other)));
    });
  });
  along_row(e, row_->size,
            [&](llvm::Value* i) { finish(e, r_.merge(e, start(e), load(e, sums, i))); });
}

void ReductionEmitter::in_row(Elements& e, llvm::Value* begin, llvm::Value* end) {
  if (iterations(reduced_) <= kUnrolled && !part_) {
    emit_loops(e, {&*row_, 1}, begin, end, true, [&] { in_registers(e); });
    return;
  }
  if (row_->size <= kUnrolled) {
    // All of the row's accumulators are in registers, and the reduced loop is the one that is
    // vectorised.
    const auto accumulators = memory(e.f, row_->size);
    const auto along_row = [&](const std::function<void(llvm::Value*)>& body) {
      for (int64_t i = 0; i < row_->size; ++i) {
        bind_loop(e, *row_, e.f.i64(i));
        e.restart();
        body(e.f.i64(i));
      }
    };
    along_row([&](llvm::Value* i) { store(e, accumulators, i, start(e)); });
    reduce_loops(e, false,
                 [&] { along_row([&](llvm::Value* i) { accumulate(e, accumulators, i); }); });
    along_row([&](llvm::Value* i) { finish(e, load(e, accumulators, i)); });
    return;
  }
  const int64_t block = std::min(kAccumulators, row_->size);
  if (begin == nullptr && block == row_->size) {
    row_block(e, e.f.i64(0), e.f.i64(block));
    return;
  }
  if (begin == nullptr) {
    begin = e.f.i64(0);
    end = e.f.i64(row_->size);
  }
  auto& b = e.f.b;
  llvm::Value* length = b.CreateSub(end, begin);
  llvm::Value* blocks = b.CreateUDiv(b.CreateAdd(length, e.f.i64(block - 1)), e.f.i64(block));
  e.f.loop(e.f.i64(0), blocks, [&](llvm::Value* i) {
    llvm::Value* done = b.CreateMul(i, e.f.i64(block), "", true, true);
    llvm::Value* count =
        b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, e.f.i64(block), b.CreateSub(length, done));
    row_block(e, b.CreateAdd(begin, done, "", true, true), count);
  });
}

void ReductionEmitter::emit() {
  const double work =
      r_.cost * 0.1 *
      static_cast<double>(iterations(kept_) * iterations(reduced_) * (row_ ? row_->size : 1));
  const int64_t parts =
      r_.scratch.bytes == 0 || reduced_.empty() ? 1 : std::min(kMaxParts, reduced_.front().size);
  if (f_.rows.count > 0) {
    emit_range(f_,
               [&](Elements& e) { r_.gathers ? gather(e) : nest(e, f_.rows.begin, f_.rows.end); });
  } else if (parts > 1) {
    in_parts(parts, work);
  } else {
    // Threads share the outermost kept loop, or the row if it is long and no loop is kept.
    const bool split_row = kept_.empty() && row_ && row_->size > kUnrolled && !wide_;
    const int64_t size = !kept_.empty() ? kept_.front().size : split_row ? row_->size : 1;
    emit_parallel(f_, size, work, [&](FunctionEmitter& g, llvm::Value* begin, llvm::Value* end) {
      emit_range(g, [&](Elements& e) { nest(e, begin, end); });
    });
  }
}

void ReductionEmitter::emit_range(FunctionEmitter& g,
                                  const std::function<void(Elements&)>& range) const {
  Elements e(g, r_.step);
  for (const Var var : add_variables(e, r_.sizes)) e.bind(var, nullptr);
  std::vector<Slice> written = r_.written;
  if (r_.scratch.bytes > 0) written.push_back(r_.scratch);
  g.begin_step(written);
  const bool through_memory = f_.rows.count == 0 && (!row_ || wide_);
  for (size_t i = 0; through_memory && i < r_.from_memory.size(); ++i)
    g.hint_ahead(r_.from_memory[i], kAheadBytes);
  range(e);
  if (through_memory) g.clear_hints();
}

// The kept loops around all else; the first of them, or the row where there is no other, from
// `begin` to `end`.
void ReductionEmitter::nest(Elements& e, llvm::Value* begin, llvm::Value* end) {
  if (wide_) {
    emit_loops(e, kept_, begin, end, false, [&] { in_wide_rows(e); });
    return;
  }
  if (kept_.empty() && row_ && row_->size > kUnrolled) {
    in_row(e, begin, end);
    return;
  }
  const bool straight = !row_ && !part_ && iterations(reduced_) <= kUnrolled;
  emit_loops(e, kept_, begin, end, straight, [&] {
    if (row_) {
      in_row(e, nullptr, nullptr);
    } else {
      in_registers(e);
    }
  });
}

// Threads share the outermost reduced loop, in parts that do not depend on their number; then the
// parts' accumulators are merged in order.
void ReductionEmitter::in_parts(int64_t parts, double work) {
  const int64_t size = reduced_.front().size;
  const int64_t length = (size + parts - 1) / parts;
  parts = (size + length - 1) / length;
  emit_parallel(f_, parts, work, [&](FunctionEmitter& g, llvm::Value* begin, llvm::Value* end) {
    emit_range(g, [&](Elements& e) {
      auto& b = g.b;
      if (begin == nullptr) {
        begin = g.i64(0);
        end = g.i64(parts);
      }
      g.loop(begin, end, [&](llvm::Value* i) {
        llvm::Value* first = b.CreateMul(i, g.i64(length), "", true, true);
        part_ = {i, first,
                 b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateAdd(first, g.i64(length)),
                                         g.i64(size))};
        nest(e, nullptr, nullptr);
      });
      part_.reset();
    });
  });
  emit_range(f_, [&](Elements& e) { merge_parts(e, parts); });
}

void ReductionEmitter::for_each_result(Elements& e, const std::function<void()>& body) {
  std::vector<Loop> kept = kept_;
  if (row_) kept.push_back(*row_);
  emit_loops(e, kept, nullptr, nullptr, false, body);
}

void ReductionEmitter::merge_parts(Elements& e, int64_t parts) {
  for_each_result(e, [&] {
    Reduction::Values total = r_.initial(e);
    for (int64_t p = 0; p < parts; ++p) total = r_.merge(e, total, load_part(e, e.f.i64(p)));
    r_.finish(e, total);
  });
}

// The phases of a row fusion: before its rows, at some of them, after all.
void ReductionEmitter::gather(Elements& e) {
  const FunctionEmitter::Rows& rows = f_.rows;
  if (rows.phase == FunctionEmitter::Rows::Phase::last) {
    merge_parts(e, rows.parts);
    return;
  }
  part_ = {rows.part, rows.begin, rows.end};
  if (rows.phase == FunctionEmitter::Rows::Phase::first) {
    for_each_result(e, [&] { finish(e, r_.identity(e)); });
  } else {
    nest(e, nullptr, nullptr);
  }
  part_.reset();
}

}  // namespace

int64_t reduction_parts(int64_t elements, int64_t results, int64_t split) {
  if (results > kFewResults || split >= kMaxParts || results == 0) return 1;
  return elements >= kMaxParts * std::max(kPartElements, results) ? kMaxParts : 1;
}

void emit_reduction(FunctionEmitter& f, const Reduction& reduction) {
  ReductionEmitter(f, reduction).emit();
}

Reduction::Values apply_reducer(Elements& e, const hlo::Computation& region,
                                const Reduction::Values& so_far,
                                const Reduction::Values& arguments) {
  if (const auto opcode = hlo::match_reducer(region)) {
    llvm::IRBuilderBase::FastMathFlagGuard guard(e.f.b);
    llvm::FastMathFlags flags;
    const bool regroup = *opcode == hlo::Opcode::add || *opcode == hlo::Opcode::multiply;
    flags.setAllowReassoc(regroup && e.f.program.may_regroup());
    e.f.b.setFastMathFlags(flags);
    const DType dtype = region.parameter(0).dtype();
    if (llvm::Value* x = emit_reducer(e.f, *opcode, dtype, so_far[0], arguments[0])) return {x};
  }
  Reduction::Values both = so_far;
  both.insert(both.end(), arguments.begin(), arguments.end());
  return e.call(region, both);
}

}  // namespace systole::cpu
