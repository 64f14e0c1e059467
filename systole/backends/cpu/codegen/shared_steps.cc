#include "systole/backends/cpu/codegen/shared_steps.h"

#include <algorithm>

#include "systole/backends/cpu/analysis/liveness.h"
#include "systole/hlo/passes/analysis.h"
#include "systole/hlo/passes/structural_equality.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

// Fewer steps are made as fast in one function, which is called less.
constexpr int kManySteps = 128;

// Constants of so many elements may become part of the code.
constexpr int64_t kKnownElements = 64;

bool is_known(const Value& operand) {
  return operand.def->is(Opcode::constant) && operand.shape().num_elements() <= kKnownElements;
}

// Of a sort's code it matters who uses what it makes.
bool can_share(const Instruction& x) {
  return !has_programs(x) && !x.is(Opcode::sort) && hlo::captures(x).empty() &&
         x.num_operands() + x.num_results() < kMostStepMemory;
}

bool same_known_operands(const Instruction& a, const Instruction& b) {
  return std::ranges::equal(a.operands(), b.operands(), [](const Value& x, const Value& y) {
    const bool constant = x.def->is(Opcode::constant);
    if (constant != y.def->is(Opcode::constant) || is_known(x) != is_known(y)) return false;
    return !is_known(x) || x.def->attrs() == y.def->attrs();
  });
}

StepMemory memory_of(const FunctionEmitter& f, const Instruction& x) {
  StepMemory memory;
  for (const Value& operand : x.operands()) {
    if (!is_known(operand)) memory.slices.push_back(f.slice(operand));
  }
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

}  // namespace

std::optional<StepMemory::Place> StepMemory::find(const Slice& slice) {
  if (slice.memory == Memory::block) return std::nullopt;
  const auto same = std::ranges::find(slices, slice);
  if (same != slices.end()) return Place{same - slices.begin(), 0};
  const auto around = std::ranges::find_if(slices, [&](const Slice& s) {
    return s.memory == slice.memory && s.index == slice.index && s.offset <= slice.offset &&
           slice.offset + slice.bytes <= s.offset + s.bytes;
  });
  if (around != slices.end()) return Place{around - slices.begin(), slice.offset - around->offset};
  if (slice.memory == Memory::constant) return std::nullopt;
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
    if (f.program.shared_steps == nullptr) f.program.shared_steps = std::make_shared<SharedSteps>();
    return f.program.shared_steps->emit(f, x, code);
  }
  FunctionEmitter step(f.program, "step");
  step.function->addFnAttr(llvm::Attribute::NoInline);
  code(step, x);
  step.finish();
  f.call(step.function);
}

void SharedSteps::emit(FunctionEmitter& f, const Instruction& x, StepCode code) {
  StepMemory memory = memory_of(f, x);
  const size_t hash = hlo::function_hash(x);
  std::vector<int64_t> layout = layout_of(memory);
  const auto [first, last] = functions_.equal_range(hash);
  for (auto entry = first; entry != last; ++entry) {
    const Shared& shared = entry->second;
    if (shared.layout == layout && hlo::same_function(*shared.step, x) &&
        same_known_operands(*shared.step, x))
      return f.call_shared(shared.function, memory.slices);
  }
  f.program.step_memory = &memory;
  FunctionEmitter step(f.program, "step");
  step.function->addFnAttr(llvm::Attribute::NoInline);
  code(step, x);
  step.finish();
  f.program.step_memory = nullptr;
  if (memory.complete) functions_.emplace(hash, Shared{&x, std::move(layout), step.function});
  f.call_shared(step.function, memory.slices);
}

}  // namespace systole::cpu
