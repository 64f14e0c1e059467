#include "systole/backends/cpu/codegen/profile_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "systole/backends/cpu/analysis/liveness.h"
#include "systole/hlo/semantics/cost.h"
#include "systole/hlo/semantics/op_semantics.h"
#include "systole/runtime/tpu_tiles.h"
#include "systole/tracing/recording.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;

bool is_product(const Instruction& x) {
  return x.is(Opcode::dot_general) || x.is(Opcode::convolution);
}

// Calls `f` with the instruction, or those inside of a fusion.
template <class F>
void each_inside(const Instruction& x, const F& f) {
  if (!x.is(Opcode::fusion)) return f(x);
  for (const Instruction* inner : x.region().instructions()) each_inside(*inner, f);
}

template <class Is>
bool any_inside(const Instruction& x, const Is& is) {
  bool any = false;
  each_inside(x, [&](const Instruction& inner) { any = any || is(inner); });
  return any;
}

// XLA's names where it has such ops.
std::string category_of(const Instruction& x) {
  const bool reduces = any_inside(x, [](const Instruction& i) { return i.is(Opcode::reduce); });
  const bool multiplies = any_inside(x, is_product);
  // What is left of a collective op where replicas are an axis of one program: a reduction over it.
  const bool combines = any_inside(x, [](const Instruction& i) {
    return i.metadata().collective && (i.is(Opcode::reduce) || i.is(Opcode::map));
  });
  if (combines && !multiplies) return "all-reduce";
  if (x.is(Opcode::fusion)) {
    return multiplies ? "convolution fusion" : reduces ? "reduce fusion" : "loop fusion";
  }
  if (multiplies) return "convolution";
  const bool moves = semantics_of(x.opcode()).moves_elements && !x.traits().has(hlo::kBitcast);
  if (moves) return "data formatting";
  if (x.traits().has(hlo::kElementwise)) return "non-fusion elementwise";
  return std::string(to_string(x.opcode()));
}

// The operations of a TPU's matrix unit, whose tiles its operands fill.
double padded_flops(const hlo::ProductSize& p) {
  const int64_t inner = runtime::round_up(p.inner, runtime::kTpuLanes);
  const int64_t columns = runtime::round_up(p.columns, runtime::kTpuLanes);
  return 2 * static_cast<double>(p.count) *
         static_cast<double>(runtime::round_up(p.rows, runtime::kTpuSublanes)) *
         static_cast<double>(inner) * static_cast<double>(columns) /
         static_cast<double>(p.dilation);
}

void add_products(const Instruction& x, tracing::Op& op) {
  each_inside(x, [&](const Instruction& inner) {
    const auto p = hlo::product_size(inner);
    if (!p) return;
    op.padded_flops += padded_flops(*p);
    op.rows = std::max(op.rows, static_cast<double>(p->rows));
  });
}

const char* memory_kind(Memory memory) {
  switch (memory) {
    case Memory::argument:
      return "argument";
    case Memory::result:
      return "result";
    case Memory::constant:
      return "constant";
    case Memory::temp:
    case Memory::block:
      break;
  }
  return "temporary";
}

}  // namespace

bool is_step_loop(const Instruction& x) {
  return x.is(Opcode::while_) && x.metadata().name == hlo::kStepLoop;
}

std::string thunk_expression(const Instruction& x) {
  std::string name(to_string(x.opcode()));
  if (x.is(Opcode::fusion)) {
    std::vector<std::string> inner;
    for (const Instruction* y : x.region().instructions()) {
      if (y->is(Opcode::parameter) || y->is(Opcode::constant) || y == x.region().terminator())
        continue;
      inner.emplace_back(to_string(y->opcode()));
    }
    std::ranges::sort(inner);
    inner.erase(std::unique(inner.begin(), inner.end()), inner.end());
    name += fmt::format("({})", fmt::join(inner, ", "));
  }
  for (const TensorType& type : x.results()) name += " " + type.to_string();
  return name;
}

namespace {

std::string thunk_name(const Instruction& x) {
  const std::string source = x.metadata().to_string();
  return source.empty() ? thunk_expression(x) : thunk_expression(x) + ", " + source;
}

tracing::Op op_of(const Instruction& x, size_t number, bool interpreted) {
  const bool around = has_programs(x);  // around other ops, which count their own
  const hlo::Cost cost = around ? hlo::Cost() : hlo::cost_of(x);
  tracing::Op op{.name = fmt::format("{}.{}", x.opcode(), number),
                 .opcode = std::string(to_string(x.opcode())),
                 .category = around ? std::string(to_string(x.opcode())) : category_of(x),
                 .expression = thunk_expression(x),
                 .scope = x.metadata().name,
                 .source = x.metadata().where.to_string(),
                 .flops = cost.flops,
                 .bytes = cost.bytes(),
                 .interpreted = interpreted};
  for (const TensorType& type : x.results()) op.shapes.push_back(type.to_string());
  if (!around) add_products(x, op);
  return op;
}

}  // namespace

std::vector<tracing::Op> ops_of(const ProgramRecord& record) {
  std::vector<tracing::Op> ops;
  for (const StepRecord& step : record.steps) {
    if (is_op(*step.x)) ops.push_back(op_of(*step.x, ops.size(), step.interpreted));
  }
  return ops;
}

std::vector<runtime::StepProfile> step_profiles_of(const ProgramRecord& record) {
  std::vector<runtime::StepProfile> profiles;
  for (const auto& [x, interpreted] : record.steps) {
    const hlo::Cost cost = has_programs(*x) ? hlo::Cost() : hlo::cost_of(*x);
    profiles.push_back({.step = thunk_name(*x),
                        .interpreted = interpreted,
                        .flops = cost.flops,
                        .bytes = cost.bytes()});
  }
  return profiles;
}

std::vector<tracing::Allocation> allocations_of(const hlo::Module& module,
                                                const BufferAssignment& buffers) {
  const Liveness liveness(module.entry());
  std::vector<tracing::Allocation> result;
  int number = 0;
  for (const hlo::Value& value : liveness.values()) {
    const Instruction& x = *value.def;
    const Slice& slice = buffers.slice(value);
    const Lifetime& lifetime = liveness.lifetime(value);
    const bool is_view = x.traits().has(hlo::kBitcast) && x.num_operands() > 0 &&
                         buffers.slice(x.operand(0)) == slice;
    if (is_view || lifetime.empty() || slice.bytes == 0) continue;
    result.push_back({.name = fmt::format("{}.{}", x.opcode(), number++),
                      .kind = memory_kind(slice.memory),
                      .type = value.type(),
                      .scope = x.metadata().name,
                      .source = x.metadata().where.to_string(),
                      .bytes = slice.bytes,
                      .index = slice.index,
                      .offset = slice.offset,
                      .first = lifetime.front().begin,
                      .last = lifetime.back().end});
  }
  return result;
}

}  // namespace systole::cpu
