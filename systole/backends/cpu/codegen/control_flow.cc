#include "systole/backends/cpu/codegen/steps.h"

namespace systole::cpu {

using hlo::Instruction;

namespace {

void emit_moves(FunctionEmitter& f, const std::vector<Move>& moves) {
  f.begin_step({});
  for (const Move& move : moves) f.copy(move);
}

llvm::BasicBlock* new_block(FunctionEmitter& f, const char* name) {
  return llvm::BasicBlock::Create(f.program.context(), name, f.function);
}

}  // namespace

void emit_while(FunctionEmitter& f, const Instruction& x) {
  const BufferAssignment& buffers = f.program.buffers;
  emit_moves(f, buffers.moves_before(x));
  llvm::BasicBlock* condition = new_block(f, "while.condition");
  llvm::BasicBlock* body = new_block(f, "while.body");
  llvm::BasicBlock* after = new_block(f, "while.after");
  f.b.CreateBr(condition);
  f.b.SetInsertPoint(condition);
  emit_steps(f, x.region(0));
  f.begin_step({});
  f.b.CreateCondBr(f.load(x.region(0).results()[0], f.i64(0)), body, after);
  f.b.SetInsertPoint(body);
  emit_steps(f, x.region(1));
  emit_moves(f, buffers.moves_after(x.region(1)));
  f.b.CreateBr(condition);
  f.b.SetInsertPoint(after);
}

// if: region 0 when the operand is true. case: the region of that number, the last when there is
// none.
void emit_branches(FunctionEmitter& f, const Instruction& x) {
  f.begin_step({});
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
    emit_steps(f, x.region(r));
    emit_moves(f, f.program.buffers.moves_after(x.region(r)));
    f.b.CreateBr(after);
  }
  f.b.SetInsertPoint(after);
}

}  // namespace systole::cpu
