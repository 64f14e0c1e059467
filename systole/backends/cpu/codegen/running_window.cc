// Windows that grow by an element at a time: running sums. One pass takes each element once.
#include <algorithm>

#include "systole/backends/cpu/codegen/loop_nest.h"
#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/window.h"

namespace systole::cpu {

using hlo::Instruction;
using hlo::Value;

namespace {

constexpr int64_t kColumns = 256;       // neighbours across the axis that run side by side
constexpr int64_t kLineLanes = 16;      // lines that run side by side
constexpr int64_t kPositions = 32;      // of a tile of lines
constexpr double kInstructionNs = 0.3;  // of a region

// A line is all elements along the axis. Element j of line (o, i) is at (o * length + j) * inner +
// i.
class RunningWindowCode {
 public:
  RunningWindowCode(FunctionEmitter& f, const Instruction& x, const hlo::RunningWindow& running)
      : f_(f),
        x_(x),
        thunk_(x),
        written_(f.result_slices(x)),
        reverse_(running.reverse),
        length_(x.shape()[running.axis]) {
    for (int d = 0; d < x.shape().rank(); ++d) {
      if (d != running.axis) (d < running.axis ? outer_ : inner_) *= x.shape()[d];
    }
    for (int k = 0; k < x.num_results(); ++k) {
      accumulators_.push_back(x.region().parameter(k).dtype());
    }
  }

  void emit() {
    if (inner_ >= kLineLanes) {
      in_columns();
    } else if (2 * lines() <= kLineLanes && length_ >= kLineLanes * kPositions) {
      in_segments();
    } else {
      in_tiles();
    }
  }

 private:
  using Values = std::vector<llvm::Value*>;       // of all accumulators
  using Memory = std::vector<llvm::AllocaInst*>;  // on the stack, kind by kind
  using Body = std::function<void(Elements&, llvm::Value*)>;

  int64_t lines() const { return outer_ * inner_; }

  // -- Values

  Values initial(Elements& e) const {
    Values values;
    for (int k = 0; k < x_.num_results(); ++k) {
      const Value value = x_.operand(x_.num_results() + k);
      values.push_back(
          convert(e.f, value.dtype(), accumulators_[k], e.element(value, scalar_index())));
    }
    return values;
  }

  Values read(Elements& e, llvm::Value* offset) const {
    Values values;
    for (int k = 0; k < x_.num_results(); ++k) {
      const Value value = x_.operand(k);
      values.push_back(convert(e.f, value.dtype(), accumulators_[k], e.f.load(value, offset)));
    }
    return values;
  }

  void write(Elements& e, llvm::Value* offset, const Values& values) const {
    for (size_t k = 0; k < values.size(); ++k) {
      const DType dtype = x_.results()[k].dtype;
      e.f.store(written_[k], dtype, offset, fit(e.f, dtype, values[k]));
    }
  }

  // `so_far` are of the elements that the windows took before `next`. Known operations are rounded
  // when results are stored.
  Values combine(Elements& e, const Values& so_far, const Values& next) const {
    const Values& first = reverse_ ? next : so_far;
    const Values& second = reverse_ ? so_far : next;
    if (const auto opcode = hlo::match_reducer(x_.region())) {
      if (llvm::Value* x = emit_reducer(e.f, *opcode, accumulators_[0], first[0], second[0]))
        return {x};
    }
    Values both = first;
    both.insert(both.end(), second.begin(), second.end());
    return e.call(x_.region(), both);
  }

  // -- Memory of the function

  llvm::Type* type(Elements& e, size_t k) const {
    return register_type(e.f.program.context(), accumulators_[k]);
  }
  Memory memory(Elements& e, int64_t count) const {
    Memory result;
    for (size_t k = 0; k < accumulators_.size(); ++k) {
      result.push_back(e.f.local(type(e, k), count));
    }
    return result;
  }
  Values load(Elements& e, const Memory& memory, llvm::Value* at) const {
    Values values;
    for (size_t k = 0; k < memory.size(); ++k) {
      values.push_back(
          e.f.b.CreateLoad(type(e, k), e.f.b.CreateInBoundsGEP(type(e, k), memory[k], at)));
    }
    return values;
  }
  void store(Elements& e, const Memory& memory, llvm::Value* at, const Values& values) const {
    for (size_t k = 0; k < memory.size(); ++k) {
      e.f.b.CreateStore(values[k], e.f.b.CreateInBoundsGEP(type(e, k), memory[k], at));
    }
  }

  // -- Numbers and loops

  static llvm::Value* add(Elements& e, llvm::Value* x, llvm::Value* y) {
    return e.f.b.CreateAdd(x, y, "", true, true);
  }
  static llvm::Value* times(Elements& e, llvm::Value* x, int64_t factor) {
    return e.f.b.CreateMul(x, e.f.i64(factor), "", true, true);
  }
  // The smaller of `size` and what is left from `begin` to `end`.
  static llvm::Value* up_to(Elements& e, int64_t size, llvm::Value* begin, int64_t end) {
    return e.f.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, e.f.i64(size),
                                       e.f.b.CreateSub(e.f.i64(end), begin));
  }
  // The offset from a line's first element to its `position`th in the order of the windows.
  llvm::Value* along(Elements& e, llvm::Value* position) const {
    if (reverse_) position = e.f.b.CreateSub(e.f.i64(length_ - 1), position, "", true, true);
    return times(e, position, inner_);
  }
  llvm::Value* first_of(Elements& e, llvm::Value* line) const {
    auto& b = e.f.b;
    return add(e, times(e, b.CreateUDiv(line, e.f.i64(inner_)), length_ * inner_),
               b.CreateURem(line, e.f.i64(inner_)));
  }
  static void loop(Elements& e, llvm::Value* begin, llvm::Value* end, const Body& body) {
    e.f.loop(begin, end, [&](llvm::Value* i) {
      e.restart();
      body(e, i);
    });
    e.restart();
  }
  static void loop(Elements& e, llvm::Value* end, const Body& body) {
    loop(e, e.f.i64(0), end, body);
  }
  static void loop(Elements& e, int64_t end, const Body& body) { loop(e, e.f.i64(end), body); }

  void in_parallel(int64_t tasks, const Body& body) {
    const double work = static_cast<double>(x_.shape().num_elements()) * kInstructionNs *
                        static_cast<double>(x_.region().instructions().size());
    emit_parallel(f_, tasks, work, [&](FunctionEmitter& g, llvm::Value* begin, llvm::Value* end) {
      Elements e(g, thunk_);
      g.begin_kernel(written_);
      if (begin == nullptr) {
        begin = g.i64(0);
        end = g.i64(tasks);
      }
      loop(e, begin, end, body);
    });
  }

  // -- The three ways

  // Neighbours are contiguous.
  void in_columns() {
    const int64_t width = std::min(kColumns, inner_);
    const int64_t blocks = (inner_ + width - 1) / width;
    in_parallel(outer_ * blocks, [&](Elements& e, llvm::Value* task) {
      const Memory sums = memory(e, width);
      llvm::Value* column = times(e, e.f.b.CreateURem(task, e.f.i64(blocks)), width);
      llvm::Value* count = up_to(e, width, column, inner_);
      llvm::Value* first =
          add(e, times(e, e.f.b.CreateUDiv(task, e.f.i64(blocks)), length_ * inner_), column);
      loop(e, count, [&](Elements&, llvm::Value* i) { store(e, sums, i, initial(e)); });
      loop(e, length_, [&](Elements&, llvm::Value* position) {
        llvm::Value* row = add(e, first, along(e, position));
        loop(e, count, [&](Elements&, llvm::Value* i) {
          llvm::Value* offset = add(e, row, i);
          const Values sum = combine(e, load(e, sums, i), read(e, offset));
          store(e, sums, i, sum);
          write(e, offset, sum);
        });
      });
    });
  }

  // Copies a tile to or from memory: element (t, r) is at first(r) + along(t).
  void for_tile(Elements& e, int64_t lanes, llvm::Value* count,
                const std::function<llvm::Value*(llvm::Value* lane)>& first,
                const std::function<llvm::Value*(llvm::Value* lane, llvm::Value* t)>& position,
                const std::function<void(llvm::Value* at, llvm::Value* offset)>& body) const {
    loop(e, lanes, [&](Elements&, llvm::Value* lane) {
      llvm::Value* line = first(lane);
      loop(e, count, [&](Elements&, llvm::Value* t) {
        body(add(e, times(e, t, kLineLanes), lane), add(e, line, along(e, position(lane, t))));
      });
    });
  }

  // Tiles of several lines are turned so that the lines are the lanes of vectors. (The last lanes
  // may stand for one line.)
  void in_tiles() {
    const int64_t lanes = std::min(kLineLanes, lines());
    in_parallel((lines() + lanes - 1) / lanes, [&](Elements& e, llvm::Value* group) {
      const Memory sums = memory(e, kLineLanes);
      const Memory tile = memory(e, kLineLanes * kPositions);
      const auto first = [&](llvm::Value* lane) {
        llvm::Value* line = add(e, times(e, group, lanes), lane);
        return first_of(
            e, e.f.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, line, e.f.i64(lines() - 1)));
      };
      loop(e, lanes, [&](Elements&, llvm::Value* lane) { store(e, sums, lane, initial(e)); });
      loop(e, (length_ + kPositions - 1) / kPositions, [&](Elements&, llvm::Value* k) {
        llvm::Value* begin = times(e, k, kPositions);
        llvm::Value* count = up_to(e, kPositions, begin, length_);
        const auto position = [&](llvm::Value*, llvm::Value* t) { return add(e, begin, t); };
        for_tile(e, lanes, count, first, position, [&](llvm::Value* at, llvm::Value* offset) {
          store(e, tile, at, read(e, offset));
        });
        loop(e, count, [&](Elements&, llvm::Value* t) {
          loop(e, lanes, [&](Elements&, llvm::Value* lane) {
            llvm::Value* at = add(e, times(e, t, kLineLanes), lane);
            const Values sum = combine(e, load(e, sums, lane), load(e, tile, at));
            store(e, sums, lane, sum);
            store(e, tile, at, sum);
          });
        });
        for_tile(e, lanes, count, first, position, [&](llvm::Value* at, llvm::Value* offset) {
          write(e, offset, load(e, tile, at));
        });
      });
    });
  }

  // A line is cut into tiles of segments, which run side by side: first each by itself, then after
  // those before it.
  void in_segments() {
    constexpr int64_t kTile = kLineLanes * kPositions;
    in_parallel(lines(), [&](Elements& e, llvm::Value* line) {
      const Memory total = memory(e, 1);
      const Memory before = memory(e, kLineLanes);
      const Memory tile = memory(e, kTile);
      llvm::Value* start = first_of(e, line);
      store(e, total, e.f.i64(0), initial(e));
      loop(e, length_ / kTile, [&](Elements&, llvm::Value* k) {
        llvm::Value* begin = times(e, k, kTile);
        const auto first = [&](llvm::Value*) { return start; };
        const auto position = [&](llvm::Value* lane, llvm::Value* t) {
          return add(e, begin, add(e, times(e, lane, kPositions), t));
        };
        for_tile(
            e, kLineLanes, e.f.i64(kPositions), first, position,
            [&](llvm::Value* at, llvm::Value* offset) { store(e, tile, at, read(e, offset)); });
        run_segments(e, total, before, tile);
        for_tile(
            e, kLineLanes, e.f.i64(kPositions), first, position,
            [&](llvm::Value* at, llvm::Value* offset) { write(e, offset, load(e, tile, at)); });
      });
      const int64_t done = length_ / kTile * kTile;
      if (done == length_) return;
      loop(e, e.f.i64(done), e.f.i64(length_), [&](Elements&, llvm::Value* position) {
        llvm::Value* offset = add(e, start, along(e, position));
        const Values sum = combine(e, load(e, total, e.f.i64(0)), read(e, offset));
        store(e, total, e.f.i64(0), sum);
        write(e, offset, sum);
      });
    });
  }

  void run_segments(Elements& e, const Memory& total, const Memory& before,
                    const Memory& tile) const {
    loop(e, e.f.i64(1), e.f.i64(kPositions), [&](Elements&, llvm::Value* t) {
      loop(e, kLineLanes, [&](Elements&, llvm::Value* lane) {
        llvm::Value* at = add(e, times(e, t, kLineLanes), lane);
        llvm::Value* last = e.f.b.CreateSub(at, e.f.i64(kLineLanes), "", true, true);
        store(e, tile, at, combine(e, load(e, tile, last), load(e, tile, at)));
      });
    });
    loop(e, kLineLanes, [&](Elements&, llvm::Value* lane) {
      const Values sum = load(e, total, e.f.i64(0));
      store(e, before, lane, sum);
      llvm::Value* last = add(e, e.f.i64((kPositions - 1) * kLineLanes), lane);
      store(e, total, e.f.i64(0), combine(e, sum, load(e, tile, last)));
    });
    loop(e, kPositions, [&](Elements&, llvm::Value* t) {
      loop(e, kLineLanes, [&](Elements&, llvm::Value* lane) {
        llvm::Value* at = add(e, times(e, t, kLineLanes), lane);
        store(e, tile, at, combine(e, load(e, before, lane), load(e, tile, at)));
      });
    });
  }

  FunctionEmitter& f_;
  const Instruction& x_;
  Thunk thunk_;
  std::vector<Slice> written_;
  bool reverse_;
  int64_t length_;
  int64_t outer_ = 1;
  int64_t inner_ = 1;
  std::vector<DType> accumulators_;
};

}  // namespace

bool emit_running_window(FunctionEmitter& f, const Instruction& x) {
  const auto running = hlo::running_window(x);
  if (running) RunningWindowCode(f, x, *running).emit();
  return running.has_value();
}

}  // namespace systole::cpu
