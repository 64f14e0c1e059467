#include "systole/backends/cpu/codegen/thunks.h"

#include <algorithm>
#include <array>
#include <span>

#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/backends/cpu/codegen/outlined_thunks.h"
#include "systole/backends/cpu/codegen/profile_notes.h"
#include "systole/backends/cpu/kernels/lapack.h"
#include "systole/backends/cpu/kernels/processes.h"
#include "systole/hlo/semantics/cost.h"
#include "systole/hlo/semantics/op_semantics.h"
#include "systole/runtime/ffi/ffi_call.h"
#include "systole/tracing/recording.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

// The time to compile a function grows faster than the function does.
constexpr size_t kCallsAFunction = 64;

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

std::string thunk_name(const Instruction& x) {
  const std::string source = x.metadata().to_string();
  return source.empty() ? thunk_expression(x) : thunk_expression(x) + ", " + source;
}

ThunkCode code_of(const Instruction& x) {
  if (has_native_code(x)) return native_code(x);
  // Some values depend on more than the operands, such as those of other replicas.
  if (hlo::semantics_of(x.opcode()).evaluate == nullptr) throw_cannot_lower(x);
  return emit_reference;
}

// With `outline`, emits each thunk as a call of a function.
void emit_noted_thunks(FunctionEmitter& f, std::span<Instruction* const> thunks, bool outline) {
  for (const Instruction* x : thunks) {
    const ThunkCode code = code_of(*x);
    if (code == emit_nothing) continue;
    if (f.program.optimize && is_overwritten_unread(*x)) continue;
    if (outline) {
      emit_outlined(f, *x, code);
    } else {
      code(f, *x);
    }
    if (code == emit_reference) ++f.program.interpreted_thunks;
    // A program that is not optimised is one function, which would take long to compile with as
    // many calls.
    if (f.program.optimize && !is_step_loop(*x)) {
      f.note_op(static_cast<int64_t>(f.program.ops.size()));
      f.program.ops.push_back(op_of(*x, f.program.ops.size(), code == emit_reference));
    }
    if (!f.program.profile) continue;
    const hlo::Cost cost = has_programs(*x) ? hlo::Cost() : hlo::cost_of(*x);
    f.note_thunk({.step = thunk_name(*x),
                  .interpreted = code == emit_reference,
                  .flops = cost.flops,
                  .bytes = cost.bytes()});
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
