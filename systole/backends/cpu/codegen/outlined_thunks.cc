#include "systole/backends/cpu/codegen/outlined_thunks.h"

#include <absl/cleanup/cleanup.h>
#include <absl/hash/hash.h>

#include <algorithm>

#include "systole/backends/cpu/analysis/liveness.h"
#include "systole/hlo/analysis/counted_loop.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/analysis/structural_equality.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

// Fewer thunks are made as fast in one function, which is called less.
constexpr int kManyThunks = 128;
// Turns of a loop that are over before its code would be compiled.
constexpr int64_t kFewTurns = 16;

// Returns whether the operand's value becomes part of the code: that of a constant of one element
// does (FunctionEmitter::load), others are read from memory. Thunks share a function only if these
// values are equal.
bool is_known(const Value& operand) {
  return operand.def->is(Opcode::constant) && operand.shape().num_elements() == 1;
}

// The code of a sort depends on who uses its results.
bool can_share(const Instruction& x) {
  return !has_programs(x) && !x.is(Opcode::sort) && hlo::captures(x).empty() &&
         x.num_operands() + x.num_results() < kMaxThunkMemory;
}

bool same_known_operands(const Instruction& a, const Instruction& b) {
  return std::ranges::equal(a.operands(), b.operands(), [](const Value& x, const Value& y) {
    if (is_known(x) != is_known(y)) return false;
    return !is_known(x) || x.def->attrs() == y.def->attrs();
  });
}

size_t hash_of(const Instruction& x) {
  size_t hash = hlo::function_hash(x);
  for (const Value& operand : x.operands()) {
    if (is_known(operand)) hash = absl::HashOf(hash, hlo::structural_hash(*operand.def));
  }
  return hash;
}

ThunkMemory memory_of(const FunctionEmitter& f, const Instruction& x) {
  ThunkMemory memory;
  // Also what is known: the slice may be that of another operand, too.
  for (const Value& operand : x.operands()) memory.slices.push_back(f.slice(operand));
  for (const Slice& result : f.result_slices(x)) memory.slices.push_back(result);
  const Slice scratch = f.scratch(x);
  if (scratch.bytes > 0) memory.slices.push_back(scratch);
  return memory;
}

// What code may rest on besides the function: which kind of memory every array lies in, and which
// of them share it.
std::vector<int64_t> layout_of(const ThunkMemory& memory) {
  const std::vector<Slice>& slices = memory.slices;
  std::vector<int64_t> layout;
  for (size_t i = 0; i < slices.size(); ++i) {
    layout.push_back(-1 - static_cast<int64_t>(slices[i].memory));
    layout.push_back(slices[i].bytes);
    for (size_t k = 0; k < i; ++k) {
      if (!slices[i].overlaps(slices[k])) continue;
      layout.push_back(static_cast<int64_t>(k));
      layout.push_back(slices[i].offset - slices[k].offset);
    }
  }
  return layout;
}

bool takes_few_turns(const Instruction& x) {
  if (!x.is(Opcode::while_)) return false;
  const auto turns = hlo::LoopCounters(x).trips();
  return turns && *turns <= kFewTurns;
}

// A function that is given the addresses of `memory`.
llvm::Function* emit_function(ProgramEmitter& program, const Instruction& x, ThunkCode code,
                              ThunkMemory* memory) {
  const absl::Cleanup restore = [&program, before = program.thunk_memory] {
    program.thunk_memory = before;
  };
  program.thunk_memory = memory;
  FunctionEmitter thunk(program, "thunk");
  thunk.function->addFnAttr(llvm::Attribute::NoInline);
  thunk.calls_only = takes_few_turns(x);
  if (thunk.calls_only) thunk.function->addFnAttr(llvm::Attribute::OptimizeNone);
  code(thunk, x);
  thunk.finish();
  return thunk.function;
}

}  // namespace

bool is_large(const hlo::Computation& computation) {
  int thunks = 0;
  for (const Instruction* x : computation.instructions()) {
    if (x->is(Opcode::constant) || x->is(Opcode::parameter) || x->traits().has(hlo::kBitcast))
      continue;
    if (++thunks == kManyThunks) return true;
    if (!has_programs(*x)) continue;
    if (std::ranges::any_of(x->regions(), [](const auto& region) { return is_large(*region); }))
      return true;
  }
  return false;
}

void emit_outlined(FunctionEmitter& f, const Instruction& x, ThunkCode code) {
  if (can_share(x)) {
    if (f.program.outlined_thunks == nullptr)
      f.program.outlined_thunks = std::make_shared<OutlinedThunks>();
    return f.program.outlined_thunks->emit(f, x, code);
  }
  f.call(emit_function(f.program, x, code, nullptr));
}

void OutlinedThunks::emit(FunctionEmitter& f, const Instruction& x, ThunkCode code) {
  ThunkMemory memory = memory_of(f, x);
  const size_t hash = hash_of(x);
  std::vector<int64_t> layout = layout_of(memory);
  for (const Value& operand : x.operands()) layout.push_back(is_program_input(operand));
  const auto [first, last] = functions_.equal_range(hash);
  for (auto entry = first; entry != last; ++entry) {
    const Shared& shared = entry->second;
    if (shared.layout == layout && hlo::same_function(*shared.thunk, x) &&
        same_known_operands(*shared.thunk, x))
      return f.call_shared(shared.function, memory.slices);
  }
  llvm::Function* thunk = emit_function(f.program, x, code, &memory);
  if (memory.complete) functions_.emplace(hash, Shared{&x, std::move(layout), thunk});
  f.call_shared(thunk, memory.slices);
}

}  // namespace systole::cpu
