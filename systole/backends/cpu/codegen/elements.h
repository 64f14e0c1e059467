// Emits the value of one element, recursively from the value to memory.
#pragma once

#include <map>
#include <unordered_map>

#include "systole/backends/cpu/analysis/element_access.h"
#include "systole/backends/cpu/codegen/function_emitter.h"

namespace systole::cpu {

// Emits elements of one thunk within a basic block. Computed values are cached by index. Call
// `restart` when emission moves to another block.
class Elements : public IndexSpace {
 public:
  Elements(FunctionEmitter& f, const Thunk& thunk) : f(f), thunk(thunk) {}

  FunctionEmitter& f;
  const Thunk& thunk;

  // Binds a loop variable to `value`; null stands for 0.
  void bind(Var var, llvm::Value* value);
  void restart();

  // Emits x as an i64.
  llvm::Value* number(const Affine& x);
  // Emits the element of `value` at `index` as a register. Errors: UNIMPLEMENTED.
  llvm::Value* element(hlo::Value value, const IndexRef& index);

  // Emits a region of scalars for these arguments and returns its results, or the `wanted` values
  // inside it. Captured values are read from memory.
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

// Emits the result element of one opcode from the elements that element_sources() lists.
using ElementCode = llvm::Value* (*)(Elements& e, const hlo::Instruction& instruction,
                                     const IndexRef& index, std::span<llvm::Value* const> sources);
// Returns null if the opcode has no element code for the instruction's types.
ElementCode element_code(const hlo::Instruction& instruction);
inline bool has_element_code(const hlo::Instruction& instruction) {
  return element_code(instruction) != nullptr;
}

// Emits one step of a reduction without rounding to the dtype: floats accumulate in registers.
// Returns null for opcodes that match_reducer does not return.
llvm::Value* emit_reducer(FunctionEmitter& f, hlo::Opcode opcode, DType dtype, llvm::Value* x,
                          llvm::Value* y);

// Rounds a register to the dtype's memory format (f16, bf16), or truncates it (s4, u4). Other
// dtypes are unchanged.
llvm::Value* fit(FunctionEmitter& f, DType dtype, llvm::Value* x);
llvm::Value* convert(FunctionEmitter& f, DType from, DType to, llvm::Value* x);

// UNIMPLEMENTED: cpu cannot lower 'fft' (f32[8,8]), from node 'x' at file.cc:41
[[noreturn]] void throw_cannot_lower(const hlo::Instruction& instruction);

}  // namespace systole::cpu
