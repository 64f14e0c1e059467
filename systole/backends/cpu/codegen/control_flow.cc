#include <algorithm>

#include "systole/backends/cpu/codegen/profile_notes.h"
#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/hlo/analysis/counted_loop.h"

namespace systole::cpu {

using hlo::Instruction;

namespace {

void emit_moves(FunctionEmitter& f, const std::vector<Move>& moves) {
  f.begin_kernel({});
  for (const Move& move : moves) f.copy(move);
}

llvm::BasicBlock* new_block(FunctionEmitter& f, const char* name) {
  return llvm::BasicBlock::Create(f.program.context(), name, f.function);
}

// Which carried values the loop overwrites wholly: their initial values need not be in memory.
std::vector<bool> overwritten(const Instruction& loop) {
  const hlo::LoopCounters counters(loop);
  std::vector<bool> result;
  for (int i = 0; i < loop.num_operands(); ++i)
    result.push_back(hlo::overwrites_carried(loop, i, counters));
  return result;
}

std::vector<Move> initial_moves(const FunctionEmitter& f, const Instruction& loop) {
  std::vector<Move> moves = f.program.buffers.moves_before(loop);
  if (!f.program.optimize) return moves;
  const std::vector<bool> unread = overwritten(loop);
  std::erase_if(moves, [&](const Move& move) {
    for (size_t i = 0; i < unread.size(); ++i) {
      const hlo::Value carried = loop.region(1).parameter(static_cast<int>(i));
      if (unread[i] && move.to == f.slice(carried)) return true;
    }
    return false;
  });
  return moves;
}

// Returns whether a thunk of the computation is a kernel, which may fail.
bool has_kernels(const hlo::Computation& computation) {
  return std::ranges::any_of(computation.instructions(), [](const Instruction* x) {
    using hlo::Opcode;
    if (x->is(Opcode::custom_call) || x->is(Opcode::dot_general) || x->is(Opcode::convolution) ||
        x->is(Opcode::sort) || !has_native_code(*x)) {
      return true;
    }
    return has_programs(*x) &&
           std::ranges::any_of(x->regions(), [](const auto& r) { return has_kernels(*r); });
  });
}

}  // namespace

bool is_overwritten_unread(const Instruction& x) {
  if (x.num_results() != 1 || x.users().empty()) return false;
  return std::ranges::all_of(x.users(), [&](const Instruction* user) {
    if (!user->is(hlo::Opcode::while_) || &user->parent() != &x.parent()) return false;
    const std::vector<bool> unread = overwritten(*user);
    bool all = true;
    for (int i = 0; i < user->num_operands(); ++i)
      all = all && (user->operand(i).def != &x || unread[i]);
    return all;
  });
}

void emit_while(FunctionEmitter& f, const Instruction& x) {
  emit_moves(f, initial_moves(f, x));
  const bool steps = is_step_loop(x);
  f.program.record.has_step_loop |= steps;
  if (steps) f.enter_steps();
  llvm::BasicBlock* condition = new_block(f, "while.condition");
  llvm::BasicBlock* body = new_block(f, "while.body");
  llvm::BasicBlock* after = new_block(f, "while.after");
  f.b.CreateBr(condition);
  f.b.SetInsertPoint(condition);
  emit_thunks(f, x.region(0));
  // The condition may read what the body's last loop nest wrote.
  f.begin_kernel({});
  llvm::Value* again = f.load(x.region(0).results()[0], f.i64(0));
  // The values of a failed kernel never change, nor does a condition that depends on them.
  if (has_kernels(x.region(0)) || has_kernels(x.region(1)))
    again = f.b.CreateAnd(again, f.no_error());
  f.b.CreateCondBr(again, body, after);
  f.b.SetInsertPoint(body);
  emit_thunks(f, x.region(1));
  emit_moves(f, f.program.buffers.moves_after(x.region(1)));
  if (steps) f.end_step();
  f.b.CreateBr(condition);
  f.b.SetInsertPoint(after);
  if (steps) f.leave_steps();
}

// if: region 0 when the operand is true. case: the region of that number, the last when there is
// none.
void emit_branches(FunctionEmitter& f, const Instruction& x) {
  f.begin_kernel({});
  llvm::Value* chosen = f.load(x.operand(0), f.i64(0));
  if (x.is(hlo::Opcode::if_)) {
    chosen = f.b.CreateSelect(chosen, f.b.getInt32(0), f.b.getInt32(1));
  }
  llvm::BasicBlock* after = new_block(f, "branches.after");
  llvm::BasicBlock* last = new_block(f, "branch");
  llvm::SwitchInst* branches = f.b.CreateSwitch(chosen, last);
  for (int r = 0; r < x.num_regions(); ++r) {
    llvm::BasicBlock* block = r + 1 == x.num_regions() ? last : new_block(f, "branch");
    if (block != last) branches->addCase(f.b.getInt32(static_cast<uint32_t>(r)), block);
    f.b.SetInsertPoint(block);
    emit_thunks(f, x.region(r));
    emit_moves(f, f.program.buffers.moves_after(x.region(r)));
    f.b.CreateBr(after);
  }
  f.b.SetInsertPoint(after);
}

}  // namespace systole::cpu
