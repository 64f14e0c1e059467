#include "systole/profile/prediction/program_cost.h"

#include "systole/hlo/analysis/counted_loop.h"
#include "systole/hlo/passes/fusion.h"
#include "systole/hlo/passes/pipeline.h"
#include "systole/hlo/semantics/cost.h"
#include "systole/runtime/tpu_tiles.h"

namespace systole::profile {
namespace {

using hlo::Instruction;
using hlo::Opcode;

// Operations of the vector unit for one element.
constexpr double kTranscendentalOps = 16;

double padded_bytes(const TensorType& type) {
  return type.is_static() ? static_cast<double>(runtime::padded_bytes(type)) : 0;
}

OpCost op_cost(const Instruction& x, std::string name) {
  const hlo::Cost cost = hlo::cost_of(x);
  OpCost result{
      .name = std::move(name),
      .flops = cost.product_flops,
      .vector_ops = cost.flops - cost.product_flops + kTranscendentalOps * cost.transcendentals,
      .memory_bytes = hlo::cost_of(x, padded_bytes).bytes(),
      .array_bytes = cost.bytes()};
  if (const auto p = hlo::product_size(x); p && p->rows > 0) {
    // Zeros that dilation puts between elements are not multiplied.
    result.matrix_cycles = static_cast<double>(p->count) *
                           product_cycles(p->rows, p->inner, p->columns) /
                           static_cast<double>(p->dilation);
  }
  return result;
}

std::string name_of(const Instruction& x) {
  std::string name(to_string(x.opcode()));
  if (x.num_results() > 0) name += " " + x.results()[0].to_string();
  const std::string source = x.metadata().to_string();
  return source.empty() ? name : name + ", " + source;
}

bool is_free(const Instruction& x) {
  return x.is(Opcode::parameter) || x.is(Opcode::constant) || x.is(Opcode::return_) ||
         x.is(Opcode::optimization_barrier) || x.traits().has(hlo::kBitcast);
}

void add_costs(const hlo::Computation& computation, double times, StepCost& step);

void add_cost(const Instruction& x, double times, StepCost& step) {
  if (is_free(x)) return;
  if (x.is(Opcode::while_)) {
    const auto trips = hlo::LoopCounters(x).trips();
    return add_costs(x.region(1), times * static_cast<double>(trips.value_or(1)), step);
  }
  if (x.is(Opcode::if_) || x.is(Opcode::case_)) return add_costs(x.region(0), times, step);
  if (x.is(Opcode::all_reduce)) {
    for (const TensorType& type : x.results())
      step.all_reduce_bytes += times * hlo::array_bytes(type);
    return;
  }
  const OpCost cost = op_cost(x, name_of(x));
  for (double i = 0; i < times; ++i) step.ops.push_back(cost);
}

void add_costs(const hlo::Computation& computation, double times, StepCost& step) {
  for (const Instruction* x : computation.instructions()) add_cost(*x, times, step);
}

}  // namespace

StepCost cost_of(const hlo::Module& program) {
  const auto optimized = program.clone();
  hlo::optimize(*optimized);
  hlo::FusionPass().run(*optimized);
  StepCost step;
  add_costs(optimized->entry(), 1, step);
  return step;
}

}  // namespace systole::profile
