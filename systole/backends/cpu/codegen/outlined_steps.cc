#include "systole/backends/cpu/codegen/outlined_steps.h"

#include <absl/cleanup/cleanup.h>
#include <absl/hash/hash.h>

#include <algorithm>

#include "systole/backends/cpu/analysis/liveness.h"
#include "systole/hlo/passes/analysis.h"
#include "systole/hlo/passes/counted_loop.h"
#include "systole/hlo/passes/structural_equality.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

// Fewer steps are made as fast in one function, which is called less.
constexpr int kManySteps = 128;
// Turns of a loop that are over before its code would be compiled.
constexpr int64_t kFewTurns = 16;

// The value of a small constant becomes part of the code (FunctionEmitter::load); other constants
// are read from memory.
bool is_known(const Value& operand) {
  return operand.def->is(Opcode::constant) && operand.shape().num_elements() == 1;
}

// The code of a sort depends on who uses its results.
bool can_share(const Instruction& x) {
  return !has_programs(x) && !x.is(Opcode::sort) && hlo::captures(x).empty() &&
         x.num_operands() + x.num_results() < kMaxStepMemory;
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

StepMemory memory_of(const FunctionEmitter& f, const Instruction& x) {
  StepMemory memory;
  // Also what is known: the slice may be that of another operand, too.
  for (const Value& operand : x.operands()) memory.slices.push_back(f.slice(operand));
  for (const Slice& result : result_slices(f, x)) memory.slices.push_back(result);
  const Slice scratch = f.scratch(x);
  if (scratch.bytes > 0) memory.slices.push_back(scratch);
  return memory;
}

// What code may rest on besides the function: which kind of memory every array lies in, and which
// of them share it.
std::vector<int64_t> layout_of(const StepMemory& memory) {
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
llvm::Function* emit_function(ProgramEmitter& program, const Instruction& x, StepCode code,
                              StepMemory* memory) {
  const absl::Cleanup restore = [&program, before = program.step_memory] {
    program.step_memory = before;
  };
  program.step_memory = memory;
  FunctionEmitter step(program, "step");
  step.function->addFnAttr(llvm::Attribute::NoInline);
  step.calls_only = takes_few_turns(x);
  if (step.calls_only) step.function->addFnAttr(llvm::Attribute::OptimizeNone);
  code(step, x);
  step.finish();
  return step.function;
}

}  // namespace

std::optional<StepMemory::Place> StepMemory::place_of(const Slice& slice) {
  if (slice.memory == Memory::block) return std::nullopt;
  const auto same = std::ranges::find(slices, slice);
  if (same != slices.end()) return Place{same - slices.begin(), 0};
  const auto around = std::ranges::find_if(slices, [&](const Slice& s) {
    return s.memory == slice.memory && s.index == slice.index && s.offset <= slice.offset &&
           slice.offset + slice.bytes <= s.offset + s.bytes;
  });
  if (around != slices.end()) return Place{around - slices.begin(), slice.offset - around->offset};
  complete = false;
  slices.push_back(slice);
  return Place{static_cast<int64_t>(slices.size()) - 1, 0};
}

bool is_large(const hlo::Computation& computation) {
  int steps = 0;
  for (const Instruction* x : computation.instructions()) {
    if (x->is(Opcode::constant) || x->is(Opcode::parameter) || x->traits().has(hlo::kBitcast))
      continue;
    if (++steps == kManySteps) return true;
    if (!has_programs(*x)) continue;
    if (std::ranges::any_of(x->regions(), [](const auto& region) { return is_large(*region); }))
      return true;
  }
  return false;
}

void emit_step_apart(FunctionEmitter& f, const Instruction& x, StepCode code) {
  if (can_share(x)) {
    if (f.program.outlined_steps == nullptr)
      f.program.outlined_steps = std::make_shared<OutlinedSteps>();
    return f.program.outlined_steps->emit(f, x, code);
  }
  f.call(emit_function(f.program, x, code, nullptr));
}

void OutlinedSteps::emit(FunctionEmitter& f, const Instruction& x, StepCode code) {
  StepMemory memory = memory_of(f, x);
  const size_t hash = hash_of(x);
  std::vector<int64_t> layout = layout_of(memory);
  const auto [first, last] = functions_.equal_range(hash);
  for (auto entry = first; entry != last; ++entry) {
    const Shared& shared = entry->second;
    if (shared.layout == layout && hlo::same_function(*shared.step, x) &&
        same_known_operands(*shared.step, x))
      return f.call_shared(shared.function, memory.slices);
  }
  llvm::Function* step = emit_function(f.program, x, code, &memory);
  if (memory.complete) functions_.emplace(hash, Shared{&x, std::move(layout), step});
  f.call_shared(step, memory.slices);
}

}  // namespace systole::cpu
