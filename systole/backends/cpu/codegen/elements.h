// Emits the value of one element: recursively from a value through the step that computes it, back
// to memory.
#pragma once

#include <map>
#include <unordered_map>

#include "systole/backends/cpu/analysis/element_access.h"
#include "systole/backends/cpu/codegen/function_emitter.h"

namespace systole::cpu {

// The element code of one step inside one straight piece of code. Values are remembered by index,
// so that each is computed once; `restart` forgets them, where the code goes on in another block.
class Elements : public IndexSpace {
 public:
  Elements(FunctionEmitter& f, const Step& step) : f(f), step(step) {}

  FunctionEmitter& f;
  const Step& step;

  // The value of a loop variable from here on. A null value stands for 0.
  void bind(Var var, llvm::Value* value);
  void restart();

  // x as an i64.
  llvm::Value* number(const Affine& x);
  // The element of `value` at `index`, in register form. Errors: UNIMPLEMENTED.
  llvm::Value* element(hlo::Value value, const IndexRef& index);

  // The results of a region of scalars for these arguments, or any other values inside it. Values
  // from around the region are read from memory.
  std::vector<llvm::Value*> call(const hlo::Computation& region,
                                 std::span<llvm::Value* const> arguments);
  std::vector<llvm::Value*> call(const hlo::Computation& region,
                                 std::span<llvm::Value* const> arguments,
                                 std::span<const hlo::Value> wanted);

 private:
  void define_quotient(Var result, const Affine& x, int64_t divisor) override;
  void define_remainder(Var result, const Affine& x, int64_t divisor) override;
  void define_element(Var result, hlo::Value value, const IndexRef& index, int64_t last) override;
  void define_clamp(Var result, const Affine& x, int64_t last) override;
  llvm::Value* clamped(llvm::Value* x, bool is_signed, int64_t last);
  llvm::Value* compute(hlo::Value value, const IndexRef& index);

  std::vector<llvm::Value*> bound_;
  std::map<std::tuple<const hlo::Instruction*, int, const Index*>, llvm::Value*> known_;
  std::vector<IndexRef> kept_;  // so that no two live at one address
  std::unordered_map<hlo::Value, llvm::Value*, hlo::ValueHash>
      arguments_;  // of regions being called
};

// The code of one opcode: its element from the elements that element_sources names. Null when it
// has none for these types.
using ElementCode = llvm::Value* (*)(Elements& e, const hlo::Instruction& instruction,
                                     const IndexRef& index, std::span<llvm::Value* const> sources);
// Null when the opcode has none for elements of the instruction's types.
ElementCode element_code(const hlo::Instruction& instruction);
inline bool has_element_code(const hlo::Instruction& instruction) {
  return element_code(instruction) != nullptr;
}

// One step of a reduction by one of match_reducer's opcodes, not rounded to the dtype: floats
// accumulate in registers. Null when the opcode is none of these.
llvm::Value* emit_reducer(FunctionEmitter& f, hlo::Opcode opcode, DType dtype, llvm::Value* x,
                          llvm::Value* y);

// Rounds a register to what fits the dtype's memory (f16, bf16), or cuts it (s4, u4); other dtypes
// are left.
llvm::Value* fit(FunctionEmitter& f, DType dtype, llvm::Value* x);
llvm::Value* convert(FunctionEmitter& f, DType from, DType to, llvm::Value* x);

// UNIMPLEMENTED: cpu cannot lower 'fft' (f32[8,8]), from node 'x' at file.cc:41
[[noreturn]] void throw_cannot_lower(const hlo::Instruction& instruction);

}  // namespace systole::cpu
