#include "systole/backends/cpu/codegen/reduction.h"

#include <algorithm>

#include "systole/hlo/builder.h"

namespace systole::cpu {
namespace {

constexpr int64_t kUnrolled = 8;     // combines that are written out rather than looped over
constexpr int64_t kBlock = 1024;     // accumulators that stay in the first-level cache
constexpr int64_t kUsefulLoop = 16;  // iterations that are worth vectorising

// The loops of a reduction, and which of them goes innermost.
class ReductionEmitter {
 public:
  ReductionEmitter(FunctionEmitter& f, const Reduction& r) : f_(f), r_(r) {
    struct Sizes : ElementAccess {
      using ElementAccess::ElementAccess;
    } space(r.step);
    add_variables(space, r.sizes);
    kept_ = merge_loops(space, r.kept, r.needed);
    reduced_ = merge_loops(space, r.reduced, r.needed);
    choose_inner();
  }

  void emit();

 private:
  void choose_inner();
  double fitness(const Loop& loop) const;
  void in_registers(Elements& e);
  void in_row(Elements& e, llvm::Value* begin, llvm::Value* end);
  void row_block(Elements& e, llvm::Value* begin, llvm::Value* count);
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

void ReductionEmitter::choose_inner() {
  double best = -1;
  int best_kept = -1;
  int best_reduced = -1;
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (fitness(kept_[i]) < best) continue;
    best = fitness(kept_[i]);
    best_kept = static_cast<int>(i);
  }
  for (size_t i = 0; i < reduced_.size(); ++i) {
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
  store(e, accumulators, e.f.i64(0), r_.initial(e));
  const auto body = [&] { accumulate(e, accumulators, e.f.i64(0)); };
  if (iterations(reduced_) <= kUnrolled) {
    emit_unrolled(e, reduced_, body);
  } else {
    emit_loops(e, reduced_, nullptr, nullptr, true, body);
  }
  e.restart();
  r_.finish(e, load(e, accumulators, e.f.i64(0)));
}

// Many accumulators at once, for `count` iterations of the row from `begin`: all pass over them,
// then the next reduced element.
void ReductionEmitter::row_block(Elements& e, llvm::Value* begin, llvm::Value* count) {
  const auto accumulators = memory(e.f, std::min(kBlock, row_->size));
  const auto along_row = [&](const std::function<void(llvm::Value*)>& body) {
    e.f.loop(e.f.i64(0), count, [&](llvm::Value* i) {
      bind_loop(e, *row_, e.f.b.CreateAdd(begin, i, "", true, true));
      e.restart();
      body(i);
    });
  };
  along_row([&](llvm::Value* i) { store(e, accumulators, i, r_.initial(e)); });
  // Several reduced elements in one pass save loads and stores of the accumulators.
  Loop inner = reduced_.back();
  const int64_t together = std::min<int64_t>(inner.size, 4);
  const auto pass = [&](llvm::Value* first, int64_t number) {
    along_row([&](llvm::Value* i) {
      Reduction::Values values = load(e, accumulators, i);
      for (int64_t k = 0; k < number; ++k) {
        bind_loop(e, inner, e.f.b.CreateAdd(first, e.f.i64(k), "", true, true));
        e.restart();
        values = r_.combine(e, values);
      }
      store(e, accumulators, i, values);
    });
  };
  const std::span<const Loop> outer(reduced_.data(), reduced_.size() - 1);
  emit_loops(e, outer, nullptr, nullptr, false, [&] {
    e.f.loop(inner.size / together, [&](llvm::Value* i) {
      pass(e.f.b.CreateMul(i, e.f.i64(together), "", true, true), together);
    });
    if (inner.size % together != 0)
      pass(e.f.i64(inner.size / together * together), inner.size % together);
  });
  along_row([&](llvm::Value* i) { r_.finish(e, load(e, accumulators, i)); });
}

void ReductionEmitter::in_row(Elements& e, llvm::Value* begin, llvm::Value* end) {
  if (iterations(reduced_) <= kUnrolled) {
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
    along_row([&](llvm::Value* i) { store(e, accumulators, i, r_.initial(e)); });
    emit_loops(e, reduced_, nullptr, nullptr, false,
               [&] { along_row([&](llvm::Value* i) { accumulate(e, accumulators, i); }); });
    along_row([&](llvm::Value* i) { r_.finish(e, load(e, accumulators, i)); });
    return;
  }
  const int64_t block = std::min(kBlock, row_->size);
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
  // The outermost kept loop is what threads share: another one than the row if there is a long one.
  const bool split_row = kept_.empty() && row_ && row_->size > kUnrolled;
  const int64_t size = !kept_.empty() ? kept_.front().size : split_row ? row_->size : 1;
  emit_parallel(f_, size, work, [&](FunctionEmitter& g, llvm::Value* begin, llvm::Value* end) {
    Elements e(g, r_.step);
    for (const Var var : add_variables(e, r_.sizes)) e.bind(var, nullptr);
    g.begin_step(r_.written);
    if (split_row) {
      in_row(e, begin, end);
      return;
    }
    const bool straight = !row_ && iterations(reduced_) <= kUnrolled;
    emit_loops(e, kept_, begin, end, straight, [&] {
      if (row_) {
        in_row(e, nullptr, nullptr);
      } else {
        in_registers(e);
      }
    });
  });
}

}  // namespace

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
    flags.setAllowReassoc(regroup && e.f.program.optimize);
    e.f.b.setFastMathFlags(flags);
    const DType dtype = region.parameter(0).dtype();
    if (llvm::Value* x = emit_reducer(e.f, *opcode, dtype, so_far[0], arguments[0])) return {x};
  }
  Reduction::Values both = so_far;
  both.insert(both.end(), arguments.begin(), arguments.end());
  return e.call(region, both);
}

}  // namespace systole::cpu
