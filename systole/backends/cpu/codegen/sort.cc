#include "systole/backends/cpu/kernels/sort.h"

#include "systole/backends/cpu/analysis/sort_order.h"
#include "systole/backends/cpu/codegen/kernel_problems.h"
#include "systole/backends/cpu/codegen/thunks.h"

namespace systole::cpu {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

namespace {

// A function that the kernel calls: its words, and the elements of the sort's operands.
class SortCode {
 public:
  SortCode(ProgramEmitter& program, const Instruction& x, const char* name, int64_t operands_at)
      : f(FunctionEmitter::callback(program, name)),
        thunk_(x),
        e_(*f, thunk_),
        x_(x),
        operands_at_(operands_at) {}

  llvm::Value* number(int64_t i) { return f->b.CreateLoad(f->b.getInt64Ty(), word(i)); }
  llvm::Value* pointer(int64_t i) { return f->b.CreateLoad(f->b.getPtrTy(), word(i)); }
  // The elements at a place of the slice.
  std::vector<llvm::Value*> elements(llvm::Value* place) {
    std::vector<llvm::Value*> result;
    for (int k = 0; k < x_.num_operands(); ++k)
      result.push_back(f->load_from(pointer(operands_at_ + k), x_.operand(k).dtype(), place));
    return result;
  }
  // Returns the comparator's value with these elements on its left and on its right.
  llvm::Value* value(Value wanted, std::span<llvm::Value* const> left,
                     std::span<llvm::Value* const> right) {
    std::vector<llvm::Value*> arguments;
    for (size_t k = 0; k < left.size(); ++k) {
      arguments.push_back(left[k]);
      arguments.push_back(right[k]);
    }
    e_.restart();
    return e_.call(x_.region(), arguments, {&wanted, 1})[0];
  }

  std::unique_ptr<FunctionEmitter> f;

 private:
  llvm::Value* word(int64_t i) {
    return f->b.CreateConstInBoundsGEP1_64(f->b.getInt64Ty(), f->data(), static_cast<uint64_t>(i));
  }

  Thunk thunk_;
  Elements e_;
  const Instruction& x_;
  int64_t operands_at_;
};

llvm::Function* emit_keys(ProgramEmitter& program, const Instruction& x, Value key) {
  SortCode code(program, x, "sort_keys", 2);
  FunctionEmitter& f = *code.f;
  llvm::Value* keys = code.pointer(1);
  f.loop(f.i64(0), code.number(0), [&](llvm::Value* i) {
    const auto elements = code.elements(i);
    f.store_to(keys, key.dtype(), i, code.value(key, elements, elements));
  });
  f.finish();
  return f.function;
}

// One pass of a merge sort from the bottom: pairs of sorted runs of `width` elements each become
// runs of twice the width. Takes the right run's element only where it is before the left one's:
// stable.
llvm::Function* emit_merge(ProgramEmitter& program, const Instruction& x) {
  SortCode code(program, x, "sort_merge", 4);
  FunctionEmitter& f = *code.f;
  auto& b = f.b;
  llvm::Value* n = code.number(0);
  llvm::Value* width = code.number(1);
  llvm::Value* from = code.pointer(2);
  llvm::Value* to = code.pointer(3);
  llvm::Value* left_at = f.local(b.getInt64Ty());
  llvm::Value* right_at = f.local(b.getInt64Ty());
  llvm::Value* step = b.CreateShl(width, 1);
  llvm::Value* pairs = b.CreateUDiv(b.CreateAdd(n, b.CreateSub(step, f.i64(1))), step);
  const auto least = [&](llvm::Value* a, llvm::Value* c) {
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, c);
  };
  f.loop(f.i64(0), pairs, [&](llvm::Value* pair) {
    llvm::Value* begin = b.CreateMul(pair, step);
    llvm::Value* middle = least(b.CreateAdd(begin, width), n);
    llvm::Value* end = least(b.CreateAdd(begin, step), n);
    b.CreateStore(begin, left_at);
    b.CreateStore(middle, right_at);
    f.loop(begin, end, [&](llvm::Value* place) {
      llvm::Value* i = b.CreateLoad(b.getInt64Ty(), left_at);
      llvm::Value* j = b.CreateLoad(b.getInt64Ty(), right_at);
      // Loads stay inside the runs, also when one is used up.
      llvm::Value* left = f.load_from(from, DType::s64, least(i, b.CreateSub(middle, f.i64(1))));
      llvm::Value* right = f.load_from(from, DType::s64, least(j, b.CreateSub(end, f.i64(1))));
      llvm::Value* before =
          code.value(x.region().results()[0], code.elements(right), code.elements(left));
      llvm::Value* take_right =
          b.CreateOr(b.CreateICmpSGE(i, middle), b.CreateAnd(b.CreateICmpSLT(j, end), before));
      f.store_to(to, DType::s64, place, b.CreateSelect(take_right, right, left));
      llvm::Value* one = b.CreateZExt(take_right, b.getInt64Ty());
      b.CreateStore(b.CreateAdd(j, one), right_at);
      b.CreateStore(b.CreateAdd(i, b.CreateXor(one, f.i64(1))), left_at);
    });
  });
  f.finish();
  return f.function;
}

}  // namespace

int64_t sort_scratch_bytes(const Instruction& x, int num_threads) {
  return x.shape().num_elements() == 0 ? 0 : sort_problem(x, num_threads).scratch_bytes();
}

void emit_sort(FunctionEmitter& f, const Instruction& x) {
  if (x.shape().num_elements() == 0) return;
  const SortProblem problem = sort_problem(x, f.program.num_threads);
  llvm::Value* function = llvm::ConstantPointerNull::get(f.b.getPtrTy());
  if (!problem.keys) {
    function = emit_merge(f.program, x);
  } else if (problem.keys->operand < 0) {
    function = emit_keys(f.program, x, match_sort_order(x)->key);
  }
  std::vector<llvm::Value*> buffers = {function, f.frame(),
                                       f.address(f.program.buffers.scratch(x))};
  for (const Value& operand : x.operands()) buffers.push_back(f.address(f.slice(operand)));
  for (const Slice& result : f.result_slices(x)) buffers.push_back(f.address(result));
  f.call_kernel({KernelKind::sort, &x}, buffers);
}

}  // namespace systole::cpu
