#include "systole/backends/cpu/codegen/thunks.h"

#include <algorithm>
#include <array>
#include <span>

#include "systole/backends/cpu/analysis/attention_fusion.h"
#include "systole/backends/cpu/analysis/product_fusion.h"
#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/backends/cpu/codegen/outlined_thunks.h"
#include "systole/backends/cpu/codegen/profile_notes.h"
#include "systole/backends/cpu/kernels/lapack.h"
#include "systole/backends/cpu/kernels/processes.h"
#include "systole/hlo/semantics/op_semantics.h"
#include "systole/runtime/ffi/ffi_call.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

// The time to compile a function grows faster than the function does.
constexpr size_t kCallsAFunction = 64;

// A thunk of so many elements, or instructions, takes a hundred times as long as its call.
constexpr int64_t kWorthACall = 4096;
constexpr int kManyInstructions = 64;

// The result aliases its operand: it needs no code.
void emit_nothing(FunctionEmitter&, const Instruction&) {}

struct ThunkRow {
  Opcode opcode;
  ThunkCode code;
};
// Opcodes with element code are loops over it, and need no row.
constexpr ThunkRow kThunks[] = {
    {Opcode::case_, emit_branches},
    {Opcode::concatenate, emit_concatenate},
    {Opcode::constant, emit_nothing},
    {Opcode::convolution, emit_convolution},
    {Opcode::dot_general, emit_dot},
    {Opcode::dynamic_update_slice, emit_dynamic_update_slice},
    {Opcode::fft, emit_fft},
    {Opcode::fusion, emit_fusion},
    {Opcode::if_, emit_branches},
    {Opcode::optimization_barrier, emit_nothing},
    {Opcode::pad, emit_pad},
    {Opcode::parameter, emit_nothing},
    {Opcode::reduce, emit_reduce},
    {Opcode::reduce_window, emit_reduce_window},
    {Opcode::reshape, emit_nothing},
    {Opcode::return_, emit_nothing},
    {Opcode::rng_bit_generator, emit_rng_bit_generator},
    {Opcode::scatter, emit_scatter},
    {Opcode::select_and_scatter, emit_select_and_scatter},
    {Opcode::sort, emit_sort},
    {Opcode::transpose, emit_transpose},
    {Opcode::while_, emit_while},
};

constexpr auto kThunkByOpcode = [] {
  std::array<ThunkCode, hlo::kNumOpcodes> table{};
  for (const ThunkRow& row : kThunks) table[static_cast<size_t>(row.opcode)] = row.code;
  return table;
}();

ThunkCode native_code(const Instruction& x) {
  if (runtime::is_ffi_call(x)) return emit_ffi;
  if (is_lapack_call(x)) return emit_lapack;
  if (process_call(x) != nullptr) return emit_processes;
  const ThunkCode code = kThunkByOpcode[static_cast<size_t>(x.opcode())];
  if (code != nullptr) return code;
  return has_element_code(x) ? emit_element_loop : nullptr;
}

// A function of elements, which becomes part of the code around it.
bool all_element_code(const hlo::Computation& region) {
  return std::ranges::all_of(region.instructions(), [&](const Instruction* x) {
    if (x == region.terminator() || x->is(Opcode::parameter)) return true;
    if (x->is(Opcode::constant)) return x->shape().num_elements() == 1;
    return has_element_code(*x);
  });
}

ThunkCode code_of(const Instruction& x) {
  if (has_native_code(x)) return native_code(x);
  // Some values depend on more than the operands, such as those of other replicas.
  if (hlo::semantics_of(x.opcode()).evaluate == nullptr) throw_cannot_lower(x);
  return emit_reference;
}

// Whether the thunk is a function of its own in a small program, too: threads compile functions
// side by side, and make one of those that are alike.
bool is_worth_a_call(const Instruction& x, ThunkCode code) {
  const bool loops = code == emit_element_loop || code == emit_fusion || code == emit_reduce ||
                     code == emit_reduce_window || code == emit_select_and_scatter;
  if (!loops || is_product_fusion(x) || is_attention_fusion(x)) return false;
  if (x.is(Opcode::fusion) && x.region().num_instructions() >= kManyInstructions) return true;
  const auto is_long = [](const TensorType& t) { return t.shape.num_elements() >= kWorthACall; };
  return std::ranges::any_of(x.results(), is_long) ||
         std::ranges::any_of(x.operands(), is_long, &Value::type);
}

// With `outline`, emits each thunk as a call of a function.
void emit_noted_thunks(FunctionEmitter& f, std::span<Instruction* const> thunks, bool outline) {
  for (const Instruction* x : thunks) {
    const ThunkCode code = code_of(*x);
    if (code == emit_nothing) continue;
    if (f.program.optimize && is_overwritten_unread(*x)) continue;
    if (outline || (f.program.optimize && is_worth_a_call(*x, code))) {
      emit_outlined(f, *x, code);
    } else {
      code(f, *x);
    }
    const auto number = std::ssize(f.program.record.steps);
    f.program.record.steps.push_back({x, code == emit_reference});
    // A program that is not optimised is one function, which would take long to compile with as
    // many calls.
    if (f.program.optimize && is_op(*x)) f.note_op(f.program.num_ops++);
    if (f.program.profile) f.note_thunk(number);
  }
}

}  // namespace

bool has_native_code(const Instruction& x) {
  if (native_code(x) == nullptr) return false;
  if (has_programs(x) || x.is(Opcode::fusion)) return true;
  return std::ranges::all_of(x.regions(), [](const auto& r) { return all_element_code(*r); });
}

void emit_thunks(FunctionEmitter& f, const hlo::Computation& computation) {
  const std::vector<Instruction*> thunks = computation.instructions();
  if (!is_large(computation)) return emit_noted_thunks(f, thunks, f.calls_only);
  for (size_t i = 0; i < thunks.size(); i += kCallsAFunction) {
    FunctionEmitter calls(f.program, "thunks");
    // It holds only calls.
    calls.function->addFnAttr(llvm::Attribute::OptimizeNone);
    calls.function->addFnAttr(llvm::Attribute::NoInline);
    const size_t count = std::min(kCallsAFunction, thunks.size() - i);
    emit_noted_thunks(calls, std::span(thunks).subspan(i, count), true);
    calls.finish();
    f.call(calls.function);
  }
}

void emit_thunk(FunctionEmitter& f, const Instruction& x) { code_of(x)(f, x); }

int64_t thunk_scratch_bytes(const Instruction& x, bool optimize, int num_threads) {
  if (x.is(Opcode::sort)) return sort_scratch_bytes(x, num_threads);
  if (!optimize) return 0;
  if (x.is(Opcode::select_and_scatter)) return select_and_scatter_scratch_bytes(x);
  if (is_row_fusion(x)) return row_fusion_scratch_bytes(x);
  return x.is(Opcode::reduce) || x.is(Opcode::fusion) ? reduce_scratch_bytes(x) : 0;
}

}  // namespace systole::cpu
