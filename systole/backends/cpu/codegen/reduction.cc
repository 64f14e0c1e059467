#include "systole/backends/cpu/codegen/reduction.h"

#include <algorithm>

#include "systole/backends/cpu/codegen/wide_rows.h"
#include "systole/backends/cpu/jit/memory_hints.h"

namespace systole::cpu {
namespace {

constexpr int64_t kUnrolled = 8;  // combines that are written out rather than looped over
constexpr int64_t kCombined = 4;  // combines for one load and store of an accumulator
// Cost of a combine beside which the load and store of its accumulator do not count.
constexpr double kCostly = 16;
constexpr double kFewElements = 4096;    // no code of a few more instructions is worth compiling
constexpr int64_t kAccumulators = 1024;  // that stay in the first-level cache
constexpr int64_t kUsefulLoop = 16;      // iterations that are worth vectorising
constexpr int64_t kSegments = 16;        // accumulated side by side
constexpr int64_t kSegment = 64;         // elements
constexpr int64_t kFewLanes = 16;  // accumulators of neighbours, in an order that is left open
constexpr int64_t kLanes = 64;     // in long rows
constexpr int64_t kRun = 4096;     // elements summed up before their sum is added to others

// Emits body(i) for i = begin, begin + step, ... as long as a whole step fits before `end`. Returns
// where it ends.
llvm::Value* emit_strides(FunctionEmitter& f, llvm::Value* begin, llvm::Value* end, int64_t step,
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

// The loops of a reduction, and which of them goes innermost. Classes derived from this one cut
// them into pieces with accumulators of their own.
class ReductionEmitter {
 public:
  // With `gathers`, the rows of a row fusion are iterations of the reduced loops.
  ReductionEmitter(FunctionEmitter& f, const Reduction& r, bool gathers = false)
      : f_(f), r_(r), gathers_(gathers) {
    ElementAccess space(r.thunk);
    add_variables(space, r.sizes);
    kept_ = merge_loops(space, r.kept, r.needed, gathers ? 0 : f_.rows.count);
    reduced_ = merge_loops(space, r.reduced, r.needed, gathers ? f_.rows.count : 0);
  }
  virtual ~ReductionEmitter() = default;

  void emit() {
    choose_loops();
    emit_all(
        r_.cost * 0.1 *
        static_cast<double>(iterations(kept_) * iterations(reduced_) * (row_ ? row_->size : 1)));
  }

 protected:
  using Values = Reduction::Values;
  using Memory = std::vector<llvm::AllocaInst*>;  // accumulators on the stack, kind by kind
  using Body = std::function<void(llvm::Value*)>;
  using RangeBody = std::function<void(llvm::Value* begin, llvm::Value* end)>;

  virtual Values start(Elements& e) const { return r_.initial(e); }
  virtual void finish(Elements& e, const Values& values) const { r_.finish(e, values); }
  virtual bool is_wide() const { return false; }

  // How many of the forms walk through memory element by element, or stay, along the loop.
  double fitness(const Loop& loop) const {
    double score = 0;
    for (const Affine& x : r_.needed) {
      const int64_t step = x.factor(loop.variables.back());
      score += step == 0 || step == 1 ? 1 : std::abs(step) <= 4 ? 0.5 : 0;
    }
    return score * (loop.size >= kUsefulLoop ? 100 : 1);
  }

  virtual void choose_loops() {
    double best = -1;
    int best_kept = -1;
    int best_reduced = -1;
    // Rows stay outermost.
    const size_t rows = f_.rows.count > 0 ? 1 : 0;
    for (size_t i = gathers_ ? 0 : rows; i < kept_.size(); ++i) {
      if (fitness(kept_[i]) < best) continue;
      best = fitness(kept_[i]);
      best_kept = static_cast<int>(i);
    }
    for (size_t i = gathers_ ? rows : 0; i < reduced_.size(); ++i) {
      if (r_.in_order && i + 1 < reduced_.size()) continue;
      if (fitness(reduced_[i]) <= best) continue;
      best = fitness(reduced_[i]);
      best_reduced = static_cast<int>(i);
    }
    if (best_reduced >= 0) {
      std::rotate(reduced_.begin() + best_reduced, reduced_.begin() + best_reduced + 1,
                  reduced_.end());
    } else if (best_kept >= 0) {
      row_ = kept_[best_kept];
      kept_.erase(kept_.begin() + best_kept);
    }
  }

  Memory memory(FunctionEmitter& g, int64_t count) const {
    Memory result;
    for (const DType dtype : r_.accumulators)
      result.push_back(g.local(register_type(g.program.context(), dtype), count));
    return result;
  }

  Values load(Elements& e, const Memory& memory, llvm::Value* offset) const {
    Values values;
    for (size_t k = 0; k < memory.size(); ++k) {
      llvm::Type* type = register_type(e.f.program.context(), r_.accumulators[k]);
      values.push_back(e.f.b.CreateLoad(type, e.f.b.CreateInBoundsGEP(type, memory[k], offset)));
    }
    return values;
  }

  void store(Elements& e, const Memory& memory, llvm::Value* offset, const Values& values) const {
    for (size_t k = 0; k < memory.size(); ++k) {
      llvm::Type* type = register_type(e.f.program.context(), r_.accumulators[k]);
      e.f.b.CreateStore(values[k], e.f.b.CreateInBoundsGEP(type, memory[k], offset));
    }
  }

  void accumulate(Elements& e, const Memory& memory, llvm::Value* offset) const {
    store(e, memory, offset, r_.combine(e, load(e, memory, offset)));
  }

  // One set of accumulators at a time: the reduced loops are innermost, or few enough to be written
  // out.
  void in_registers(Elements& e) {
    const Memory accumulators = memory(e.f, 1);
    e.restart();
    store(e, accumulators, e.f.i64(0), start(e));
    take_all(e, accumulators);
    e.restart();
    finish(e, load(e, accumulators, e.f.i64(0)));
  }

  // Takes all elements into one set of accumulators.
  virtual void take_all(Elements& e, const Memory& total) {
    reduce_loops(e, true, [&] { accumulate(e, total, e.f.i64(0)); });
  }

  // All reduced loops, or the part of them.
  void reduce_loops(Elements& e, bool unroll, const std::function<void()>& body) const {
    if (begin_ == nullptr && unroll && iterations(reduced_) <= kUnrolled) {
      emit_unrolled(e, reduced_, body);
    } else {
      emit_loops(e, reduced_, begin_, end_, unroll, body);
    }
  }

  // Many accumulators at once, for `count` iterations of the row from `begin`.
  // They stay in the first-level cache, and are as many independent sums: the loop over them is
  // vectorised although each sum is taken in order.
  virtual void row_block(Elements& e, llvm::Value* begin, llvm::Value* count) {
    const Memory accumulators = memory(e.f, std::min(kAccumulators, row_->size));
    along_row(e, begin, count, [&](llvm::Value* i) { store(e, accumulators, i, start(e)); });
    row_passes(
        e, begin, count, [&](llvm::Value* i) { return load(e, accumulators, i); },
        [&](llvm::Value* i, const Values& values) { store(e, accumulators, i, values); });
    along_row(e, begin, count, [&](llvm::Value* i) { finish(e, load(e, accumulators, i)); });
  }

  void along_row(Elements& e, llvm::Value* begin, llvm::Value* count, const Body& body) const {
    e.f.loop(e.f.i64(0), count, [&](llvm::Value* i) {
      bind_loop(e, *row_, begin == nullptr ? i : e.f.b.CreateAdd(begin, i, "", true, true));
      e.restart();
      body(i);
    });
  }

  int64_t combines_together() const {
    const double elements =
        static_cast<double>(iterations(kept_) * iterations(reduced_) * row_->size);
    if (r_.cost >= kCostly || elements < kFewElements) return 1;
    return std::min(reduced_.back().size, kCombined);
  }

  // All accumulators of the block take a reduced element, then all the next one. Several elements
  // in one pass save loads and stores of the accumulators.
  void row_passes(Elements& e, llvm::Value* begin, llvm::Value* count,
                  const std::function<Values(llvm::Value*)>& load,
                  const std::function<void(llvm::Value*, const Values&)>& store) const {
    const Loop& inner = reduced_.back();
    const int64_t together = combines_together();
    const auto pass = [&](llvm::Value* first, int64_t number) {
      along_row(e, begin, count, [&](llvm::Value* i) {
        Values values = load(i);
        for (int64_t k = 0; k < number; ++k) {
          bind_loop(e, inner, e.f.b.CreateAdd(first, e.f.i64(k), "", true, true));
          e.restart();
          values = r_.combine(e, values);
        }
        store(i, values);
      });
    };
    around_last_loop(e, [&](llvm::Value* first, llvm::Value* end) {
      llvm::Value* rest =
          emit_strides(e.f, first, end, together, [&](llvm::Value* i) { pass(i, together); });
      if (together > 1) emit_strides(e.f, rest, end, 1, [&](llvm::Value* i) { pass(i, 1); });
    });
  }

  // The reduced loops around body(begin, end), which does these iterations of the last of them.
  void around_last_loop(Elements& e, const RangeBody& body) const {
    const std::span<const Loop> outer(reduced_.data(), reduced_.size() - 1);
    if (begin_ != nullptr && outer.empty()) {
      body(begin_, end_);
    } else {
      emit_loops(e, outer, begin_, end_, false,
                 [&] { body(e.f.i64(0), e.f.i64(reduced_.back().size)); });
    }
  }

  void in_row(Elements& e, llvm::Value* begin, llvm::Value* end) {
    if (iterations(reduced_) <= kUnrolled && begin_ == nullptr) {
      emit_loops(e, {&*row_, 1}, begin, end, true, [&] { in_registers(e); });
      return;
    }
    if (row_->size <= kUnrolled) {
      // All of the row's accumulators are in registers, and the reduced loop is the one that is
      // vectorised.
      const Memory accumulators = memory(e.f, row_->size);
      const auto along = [&](const Body& body) {
        for (int64_t i = 0; i < row_->size; ++i) {
          bind_loop(e, *row_, e.f.i64(i));
          e.restart();
          body(e.f.i64(i));
        }
      };
      along([&](llvm::Value* i) { store(e, accumulators, i, start(e)); });
      reduce_loops(e, false,
                   [&] { along([&](llvm::Value* i) { accumulate(e, accumulators, i); }); });
      along([&](llvm::Value* i) { finish(e, load(e, accumulators, i)); });
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

  bool splits_row() const { return kept_.empty() && row_ && row_->size > kUnrolled && !is_wide(); }

  // Threads share the outermost kept loop, or the row if it is long and no loop is kept.
  virtual void emit_all(double work) {
    if (f_.rows.count > 0)
      return emit_range(f_, [&](Elements& e) { nest(e, f_.rows.begin, f_.rows.end); });
    const int64_t size = !kept_.empty() ? kept_.front().size : splits_row() ? row_->size : 1;
    emit_parallel(f_, size, work, [&](FunctionEmitter& g, llvm::Value* begin, llvm::Value* end) {
      emit_range(g, [&](Elements& e) { nest(e, begin, end); });
    });
  }

  void emit_range(FunctionEmitter& g, const std::function<void(Elements&)>& range) const {
    Elements e(g, r_.thunk);
    for (const Var var : add_variables(e, r_.sizes)) e.bind(var, nullptr);
    g.begin_kernel(r_.written);
    // A row of a few kilobytes is in a cache after the first of its passes; the rest comes from
    // memory once, in order, and is fetched ahead.
    const bool through_memory = f_.rows.count == 0 && (!row_ || is_wide());
    for (size_t i = 0; through_memory && i < r_.from_memory.size(); ++i)
      g.hint_ahead(r_.from_memory[i], kAheadBytes);
    range(e);
    if (through_memory) g.clear_hints();
  }

  // The kept loops around all else; the first of them, or the row where there is no other, from
  // `begin` to `end`.
  virtual void nest(Elements& e, llvm::Value* begin, llvm::Value* end) {
    if (splits_row()) return in_row(e, begin, end);
    const bool straight = !row_ && begin_ == nullptr && iterations(reduced_) <= kUnrolled;
    emit_loops(e, kept_, begin, end, straight,
               [&] { row_ ? in_row(e, nullptr, nullptr) : in_registers(e); });
  }

  FunctionEmitter& f_;
  const Reduction& r_;
  const bool gathers_;
  std::vector<Loop> kept_;
  std::vector<Loop> reduced_;
  std::optional<Loop> row_;  // the kept loop that goes innermost, if one does; it is not in kept_
  // The iterations of the outermost reduced loop that are being emitted; null for all.
  llvm::Value* begin_ = nullptr;
  llvm::Value* end_ = nullptr;
};

// One long loop in pieces whose accumulators start as elements.
class SegmentEmitter : public ReductionEmitter {
 public:
  SegmentEmitter(FunctionEmitter& f, const Reduction& r, const ReductionSegments& s)
      : ReductionEmitter(f, r), s_(s) {}

 private:
  void take_all(Elements& e, const Memory& total) override {
    const int64_t size = reduced_.size() == 1 ? reduced_[0].size : 0;
    if (s_.any_order && size >= 4 * kFewLanes) {
      in_lanes(e, total);
    } else if (!s_.any_order && size >= kSegments * kSegment) {
      in_segments(e, total);
    } else {
      ReductionEmitter::take_all(e, total);
    }
  }

  // Reduces the elements in order, except those taken first. Every segment has its own
  // accumulators, which advance together as a vector; they are merged in segment order.
  void in_segments(Elements& e, const Memory& total) {
    auto& f = e.f;
    constexpr int64_t kAllSegments = kSegments * kSegment;
    const Loop& loop = reduced_[0];
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
      along(begin, [&](llvm::Value* s) { store(e, segments, s, s_.first(e)); });
      f.loop(f.i64(1), f.i64(kSegment), [&](llvm::Value* i) {
        along(f.b.CreateAdd(begin, i, "", true, true),
              [&](llvm::Value* s) { accumulate(e, segments, s); });
      });
      f.loop(kSegments, [&](llvm::Value* s) {
        e.restart();
        const Values merged = s_.merge(e, load(e, total, f.i64(0)), load(e, segments, s));
        store(e, total, f.i64(0), merged);
      });
    });
    take_rest(e, loop.size / kAllSegments * kAllSegments, total);
  }

  // Neighbours go to accumulators of their own, so that they are taken a vector at a time; these
  // are merged a half with the other half.
  void in_lanes(Elements& e, const Memory& total) {
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
    side_by_side(f.i64(0), [&](llvm::Value* lane) { store(e, running, lane, s_.first(e)); });
    f.loop(f.i64(1), f.i64(loop.size / lanes), [&](llvm::Value* k) {
      side_by_side(f.b.CreateMul(k, f.i64(lanes), "", true, true),
                   [&](llvm::Value* lane) { accumulate(e, running, lane); });
    });
    for (int64_t half = lanes / 2; half >= kMin; half /= 2) {
      f.loop(half, [&](llvm::Value* lane) {
        e.restart();
        llvm::Value* other = f.b.CreateAdd(lane, f.i64(half), "", true, true);
        store(e, running, lane, s_.merge(e, load(e, running, lane), load(e, running, other)));
      });
    }
    for (int64_t lane = 0; lane < kMin; ++lane) {
      e.restart();
      store(e, total, f.i64(0),
            s_.merge(e, load(e, total, f.i64(0)), load(e, running, f.i64(lane))));
    }
    take_rest(e, loop.size / lanes * lanes, total);
  }

  // The elements from `begin` on, one by one.
  void take_rest(Elements& e, int64_t begin, const Memory& total) const {
    const Loop& loop = reduced_[0];
    if (begin == loop.size) return;
    e.f.loop(e.f.i64(begin), e.f.i64(loop.size), [&](llvm::Value* i) {
      bind_loop(e, loop, i);
      e.restart();
      accumulate(e, total, e.f.i64(0));
    });
  }

  const ReductionSegments& s_;
};

// The outermost reduced loop in parts, and, within a part, rows of few elements side by side.
class PartsEmitter : public ReductionEmitter {
 public:
  PartsEmitter(FunctionEmitter& f, const Reduction& r, const ReductionParts& p)
      : ReductionEmitter(f, r, p.gathers), p_(p) {}

 private:
  bool is_wide() const override { return wide_.has_value(); }

  void choose_loops() override {
    // Rows of a row fusion stay outermost.
    const size_t outermost = f_.rows.count > 0 && !gathers_ ? 1 : 0;
    if (kept_.size() > outermost && !reduced_.empty()) {
      wide_ = plan_wide_rows(kept_.back(), reduced_.back(), p_.forms, p_.reads,
                             static_cast<int>(r_.sizes.size()));
    }
    if (!wide_) return ReductionEmitter::choose_loops();
    row_ = kept_.back();
    kept_.pop_back();
  }

  void emit_all(double work) override {
    const int64_t parts =
        p_.scratch.bytes == 0 || reduced_.empty() ? 1 : std::min(kMaxParts, reduced_.front().size);
    if (gathers_) {
      emit_range(f_, [&](Elements& e) { gather(e); });
    } else if (parts > 1 && f_.rows.count == 0) {
      in_parts(parts, work);
    } else {
      ReductionEmitter::emit_all(work);
    }
  }

  void nest(Elements& e, llvm::Value* begin, llvm::Value* end) override {
    if (!wide_) return ReductionEmitter::nest(e, begin, end);
    emit_loops(e, kept_, begin, end, false, [&] { in_wide_rows(e); });
  }

  // Threads share the outermost reduced loop, in parts that do not depend on their number; then the
  // parts' accumulators are merged in order.
  void in_parts(int64_t parts, double work) {
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
          set_part(i, first,
                   b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateAdd(first, g.i64(length)),
                                           g.i64(size)));
          nest(e, nullptr, nullptr);
        });
        set_part(nullptr, nullptr, nullptr);
      });
    });
    emit_range(f_, [&](Elements& e) { merge_parts(e, parts); });
  }

  void for_each_result(Elements& e, const std::function<void()>& body) {
    std::vector<Loop> kept = kept_;
    if (row_) kept.push_back(*row_);
    emit_loops(e, kept, nullptr, nullptr, false, body);
  }

  void merge_parts(Elements& e, int64_t parts) {
    for_each_result(e, [&] {
      Values total = r_.initial(e);
      for (int64_t p = 0; p < parts; ++p) total = p_.merge(e, total, load_part(e, e.f.i64(p)));
      r_.finish(e, total);
    });
  }

  // The phases of a row fusion: before its rows, at some of them, after all.
  void gather(Elements& e) {
    const FunctionEmitter::Rows& rows = f_.rows;
    if (rows.phase == FunctionEmitter::Rows::Phase::last) return merge_parts(e, rows.parts);
    set_part(rows.part, rows.begin, rows.end);
    if (rows.phase == FunctionEmitter::Rows::Phase::first) {
      for_each_result(e, [&] { finish(e, p_.identity(e)); });
    } else {
      nest(e, nullptr, nullptr);
    }
    set_part(nullptr, nullptr, nullptr);
  }

  void set_part(llvm::Value* part, llvm::Value* begin, llvm::Value* end) {
    part_ = part;
    begin_ = begin;
    end_ = end;
  }

  Values start(Elements& e) const override {
    if (part_ == nullptr) return r_.initial(e);
    return gathers_ ? load_part(e, part_) : p_.identity(e);
  }

  void finish(Elements& e, const Values& values) const override {
    part_ != nullptr ? store_part(e, values) : r_.finish(e, values);
  }

  // Accumulators of one kind side by side, part after part.
  llvm::Value* part_place(FunctionEmitter& g, size_t accumulator, llvm::Value* part,
                          llvm::Value* offset) const {
    auto& b = g.b;
    llvm::Value* memory = b.CreateConstInBoundsGEP1_64(
        b.getInt8Ty(), g.address(p_.scratch),
        accumulator * static_cast<uint64_t>(kMaxParts * p_.results * kPartBytes));
    llvm::Value* at = b.CreateAdd(b.CreateMul(part, g.i64(p_.results)), offset, "", true, true);
    return b.CreateInBoundsGEP(register_type(g.program.context(), r_.accumulators[accumulator]),
                               memory, at);
  }

  Values load_part(Elements& e, llvm::Value* part) const {
    llvm::Value* offset = e.number(p_.target);
    Values values;
    for (size_t k = 0; k < r_.accumulators.size(); ++k) {
      llvm::Type* type = register_type(e.f.program.context(), r_.accumulators[k]);
      llvm::Instruction* value = e.f.b.CreateLoad(type, part_place(e.f, k, part, offset));
      e.f.tag(value, p_.scratch, false);
      values.push_back(value);
    }
    return values;
  }

  void store_part(Elements& e, const Values& values) const {
    llvm::Value* offset = e.number(p_.target);
    for (size_t k = 0; k < values.size(); ++k) {
      e.f.tag(e.f.b.CreateStore(values[k], part_place(e.f, k, part_, offset)), p_.scratch, true);
    }
  }

  // A part of one loop: its elements are summed up run by run, so that no sum is of very many.
  void take_all(Elements& e, const Memory& total) override {
    if (part_ == nullptr || reduced_.size() != 1) return ReductionEmitter::take_all(e, total);
    auto& b = e.f.b;
    const Memory run = memory(e.f, 1);
    llvm::Value* zero = e.f.i64(0);
    llvm::Value* length = b.CreateSub(end_, begin_);
    llvm::Value* runs = b.CreateUDiv(b.CreateAdd(length, e.f.i64(kRun - 1)), e.f.i64(kRun));
    e.f.loop(zero, runs, [&](llvm::Value* i) {
      llvm::Value* first = b.CreateAdd(begin_, b.CreateMul(i, e.f.i64(kRun)), "", false, true);
      llvm::Value* last =
          b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateAdd(first, e.f.i64(kRun)), end_);
      e.restart();
      store(e, run, zero, p_.identity(e));
      emit_loops(e, reduced_, first, last, false, [&] { accumulate(e, run, zero); });
      e.restart();
      store(e, total, zero, p_.merge(e, load(e, total, zero), load(e, run, zero)));
    });
  }

  // Accumulators of a row fusion's parts keep their values from the previous rows.
  void row_block(Elements& e, llvm::Value* begin, llvm::Value* count) override {
    if (part_ == nullptr || !gathers_) return ReductionEmitter::row_block(e, begin, count);
    row_passes(
        e, begin, count, [&](llvm::Value*) { return load_part(e, part_); },
        [&](llvm::Value*, const Values& values) { store_part(e, values); });
  }

  // Makes a copy of the elements that one row reads for each row of a wide one, and reads that from
  // now on.
  void repeat(Elements& e, const ElementAccess::Read& read) {
    auto& f = e.f;
    const DType dtype = read.leaf.dtype();
    const Slice copies = f.add_block(wide_->rows * row_->size * size_of(dtype));
    f.set_origin(copies, f.i64(0));
    f.loop(wide_->rows, [&](llvm::Value* k) {
      llvm::Value* first = f.b.CreateMul(k, f.i64(row_->size), "", true, true);
      along_row(e, nullptr, f.i64(row_->size), [&](llvm::Value* i) {
        llvm::Value* element = f.load(read.leaf, e.number(read.offset));
        f.store(copies, dtype, f.b.CreateAdd(first, i, "", true, true), element);
      });
    });
    bind_loop(e, *row_, f.i64(0));
    e.restart();
    f.set_origin(copies, e.number(read.offset));
    f.place(read.leaf, copies);
  }

  // As row_block, with several iterations of the last reduced loop side by side. Whatever is read
  // lies so that element `i` of the row that begins at an iteration, for an `i` beyond the row, is
  // the element of a later iteration.
  void in_wide_rows(Elements& e) {
    auto& f = e.f;
    const Loop& inner = reduced_.back();
    const int64_t lanes = wide_->rows * row_->size;
    const Memory sums = memory(f, lanes);
    along_row(e, nullptr, f.i64(lanes), [&](llvm::Value* i) { store(e, sums, i, p_.identity(e)); });
    std::vector<Slice> arrays;
    for (const ElementAccess::Read& read : wide_->repeated) {
      arrays.push_back(f.slice(read.leaf));
      repeat(e, read);
    }
    const auto pass = [&](llvm::Value* first, int64_t number, int64_t count) {
      along_row(e, nullptr, f.i64(count), [&](llvm::Value* i) {
        Values values = load(e, sums, i);
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
      llvm::Value* rest = emit_strides(f, begin, end, kTogether * wide_->rows,
                                       [&](llvm::Value* i) { pass(i, kTogether, lanes); });
      rest = emit_strides(f, rest, end, wide_->rows, [&](llvm::Value* i) { pass(i, 1, lanes); });
      emit_strides(f, rest, end, 1, [&](llvm::Value* i) { pass(i, 1, row_->size); });
    });
    for (size_t k = 0; k < arrays.size(); ++k) f.place(wide_->repeated[k].leaf, arrays[k]);
    f.loop(f.i64(1), f.i64(wide_->rows), [&](llvm::Value* k) {
      llvm::Value* first = f.b.CreateMul(k, f.i64(row_->size), "", true, true);
      along_row(e, nullptr, f.i64(row_->size), [&](llvm::Value* i) {
        llvm::Value* other = f.b.CreateAdd(first, i, "", true, true);
        store(e, sums, i, p_.merge(e, load(e, sums, i), load(e, sums, other)));
      });
    });
    along_row(e, nullptr, f.i64(row_->size),
              [&](llvm::Value* i) { finish(e, p_.merge(e, start(e), load(e, sums, i))); });
  }

  const ReductionParts& p_;
  std::optional<WideRows> wide_;  // of row_ and the last reduced loop
  llvm::Value* part_ = nullptr;   // the number of the part that is being emitted
};

}  // namespace

void emit_reduction(FunctionEmitter& f, const Reduction& r) { ReductionEmitter(f, r).emit(); }

void emit_reduction_in_segments(FunctionEmitter& f, const Reduction& r,
                                const ReductionSegments& segments) {
  SegmentEmitter(f, r, segments).emit();
}

void emit_reduction_in_parts(FunctionEmitter& f, const Reduction& r, const ReductionParts& parts) {
  PartsEmitter(f, r, parts).emit();
}

}  // namespace systole::cpu
