#include "systole/backends/cpu/codegen/loop_nest.h"

#include <llvm/IR/ConstantRange.h>

#include <algorithm>

namespace systole::cpu {
namespace {

constexpr int64_t kUnroll = 8;
constexpr double kParallelWork = 20000;  // waking threads costs some microseconds
constexpr double kChunkWork = 4000;

bool evenly(const IndexSpace& space, Var outer, Var inner, std::span<const Affine> needed) {
  return std::ranges::all_of(needed, [&](const Affine& x) {
    return x.factor(outer) == x.factor(inner) * space.size(inner);
  });
}

// Tells LLVM that an argument is in [0, end). Without the range LLVM adds overflow checks before a
// vectorized loop, and does not vectorize loops that need many.
void set_range(llvm::Function& function, unsigned argument, int64_t end) {
  const llvm::ConstantRange range(llvm::APInt(64, 0), llvm::APInt(64, static_cast<uint64_t>(end)));
  function.addParamAttr(argument,
                        llvm::Attribute::get(function.getContext(), llvm::Attribute::Range, range));
}

}  // namespace

std::vector<Loop> merge_loops(const IndexSpace& space, std::span<const Var> order,
                              std::span<const Affine> needed, int64_t rows) {
  std::vector<Loop> loops;
  if (rows > 0) {
    // One loop whatever the forms say, so that callers can split it by rows; where the forms do not
    // step evenly, bind_loop divides.
    Loop& all = loops.emplace_back();
    while (all.size < rows) {
      const Var var = order.front();
      order = order.subspan(1);
      if (space.size(var) == 1) continue;
      all.evenly =
          all.evenly && (all.variables.empty() || evenly(space, all.variables.back(), var, needed));
      all.variables.push_back(var);
      all.size *= space.size(var);
    }
  }
  const size_t separate = loops.size();
  for (const Var var : order) {
    if (space.size(var) == 1) continue;
    if (loops.size() > separate && evenly(space, loops.back().variables.back(), var, needed)) {
      loops.back().variables.push_back(var);
      loops.back().size *= space.size(var);
    } else {
      loops.push_back({{var}, space.size(var)});
    }
  }
  return loops;
}

int64_t iterations(std::span<const Loop> loops) {
  int64_t product = 1;
  for (const Loop& loop : loops) product *= loop.size;
  return product;
}

std::vector<Var> add_variables(IndexSpace& space, std::span<const int64_t> sizes) {
  std::vector<Var> result;
  for (const int64_t size : sizes) result.push_back(space.add_variable(size));
  return result;
}

std::vector<Affine> coordinates(std::span<const Var> variables) {
  std::vector<Affine> result;
  for (const Var var : variables) result.push_back(Affine::variable(var));
  return result;
}

void bind_loop(Elements& e, const Loop& loop, llvm::Value* i) {
  if (!loop.evenly) {
    for (size_t k = loop.variables.size() - 1; k > 0; --k) {
      llvm::Value* size = e.f.i64(e.size(loop.variables[k]));
      e.bind(loop.variables[k], e.f.b.CreateURem(i, size));
      i = e.f.b.CreateUDiv(i, size);
    }
    e.bind(loop.variables.front(), i);
    return;
  }
  // Every form steps evenly through the merged variables: the last one's factor holds for all.
  for (const Var var : loop.variables) e.bind(var, nullptr);
  e.bind(loop.variables.back(), i);
}

void emit_unrolled(Elements& e, std::span<const Loop> loops, const std::function<void()>& body) {
  if (loops.empty()) {
    e.restart();
    body();
    return;
  }
  for (int64_t i = 0; i < loops.front().size; ++i) {
    bind_loop(e, loops.front(), e.f.i64(i));
    emit_unrolled(e, loops.subspan(1), body);
  }
}

void emit_loops(Elements& e, std::span<const Loop> loops, llvm::Value* begin, llvm::Value* end,
                bool unroll, const std::function<void()>& body) {
  const bool whole = begin == nullptr;
  if (loops.empty() || (whole && unroll && iterations(loops) <= kUnroll)) {
    emit_unrolled(e, loops, body);
    return;
  }
  const Loop& loop = loops.front();
  if (whole) {
    begin = e.f.i64(0);
    end = e.f.i64(loop.size);
  }
  e.f.loop(begin, end, [&](llvm::Value* i) {
    bind_loop(e, loop, i);
    emit_loops(e, loops.subspan(1), nullptr, nullptr, unroll, body);
  });
}

void emit_parallel(FunctionEmitter& f, int64_t size, double work, const RangeCode& generate) {
  if (f.program.num_threads <= 1 || size < 2 || work < kParallelWork || !f.program.optimize) {
    generate(f, nullptr, nullptr);
  } else {
    emit_parallel_body(f, size, work, generate);
  }
}

void emit_parallel_body(FunctionEmitter& f, int64_t size, double work, const RangeCode& generate) {
  const auto body = FunctionEmitter::loop_body(f.program, "loop");
  set_range(*body->function, 1, size);
  set_range(*body->function, 2, size + 1);
  generate(*body, body->begin(), body->end());
  body->finish();
  const auto grain = static_cast<int64_t>(kChunkWork * static_cast<double>(size) / work) + 1;
  auto& b = f.b;
  auto* type = llvm::FunctionType::get(
      b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty(), b.getPtrTy(), b.getPtrTy()},
      false);
  b.CreateCall(f.runtime_function("systole_cpu_parallel_for", type),
               {f.context(), f.i64(size), f.i64(grain), body->function, f.frame()});
}

}  // namespace systole::cpu
