#include "systole/profile/prediction/program_cost.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "systole/hlo/analysis/counted_loop.h"
#include "systole/hlo/passes/fusion.h"
#include "systole/hlo/passes/pipeline.h"
#include "systole/hlo/semantics/cost.h"
#include "systole/hlo/tpu_model/kernels.h"
#include "systole/hlo/tpu_model/step_memory.h"
#include "systole/runtime/tpu_memory.h"
#include "systole/runtime/tpu_tiles.h"

namespace systole::profile {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

// Operations of the vector unit for one element.
constexpr double kTranscendentalOps = 16;

// Without bytes.
OpCost op_cost(const Instruction& root, const hlo::Cost& cost) {
  return {
      .product = hlo::product_size(root),
      .is_convolution = root.is(Opcode::convolution),
      .flops = cost.product_flops,
      .vector_ops = cost.flops - cost.product_flops + kTranscendentalOps * cost.transcendentals};
}

std::string name_of(const Instruction& x) {
  std::string name(to_string(x.opcode()));
  if (x.num_results() > 0) name += " " + x.results()[0].to_string();
  const std::string source = x.metadata().to_string();
  return source.empty() ? name : name + ", " + source;
}

using Values = std::unordered_set<Value, hlo::ValueHash>;

// Results that are written over parameters.
Values updated_parameters(const hlo::Module& program) {
  Values updated;
  const auto results = program.entry().results();
  for (const hlo::Module::Alias& alias : program.aliases) {
    if (alias.result < static_cast<int>(results.size()))
      updated.insert(results[static_cast<size_t>(alias.result)]);
  }
  return updated;
}

// x^T y, of examples along both.
bool is_gradient_of_weights(const Instruction& x) {
  if (!x.is(Opcode::dot_general)) return false;
  const auto& attrs = x.attrs<hlo::DotAttrs>();
  const Dims first = {0};
  return attrs.lhs_contracting_dimensions == first && attrs.rhs_contracting_dimensions == first;
}

OpCost kernel_cost(const hlo::Kernel& kernel, const Values& updated) {
  OpCost cost = op_cost(*kernel.root, kernel.cost);
  cost.name = name_of(*kernel.root);
  cost.only_writes = kernel.reads.empty();
  for (const auto* arrays : {&kernel.reads, &kernel.writes, &kernel.scratch}) {
    for (const hlo::KernelArray& array : *arrays) {
      cost.arrays.push_back(array.bytes(runtime::tile_bytes));
      cost.memory_bytes += cost.arrays.back();
      cost.array_bytes += hlo::array_bytes(array.type);
    }
  }
  for (const hlo::KernelArray& array : kernel.copies)
    cost.copied_bytes += array.bytes(runtime::tile_bytes);
  if (!is_gradient_of_weights(*kernel.root)) return cost;
  for (const hlo::KernelArray& array : kernel.writes) {
    if (updated.contains(array.value)) cost.updated.push_back(array.bytes(runtime::tile_bytes));
  }
  return cost;
}

// The bytes that a gather, scatter or exchange brings to a core or takes from it.
double link_bytes(const Instruction& x) {
  double in = 0;
  double out = 0;
  for (const Value& operand : x.operands()) in += hlo::array_bytes(operand.type());
  for (const TensorType& type : x.results()) out += hlo::array_bytes(type);
  if (x.is(Opcode::all_gather) || x.is(Opcode::reduce_scatter)) return std::abs(out - in);
  return std::max(in, out);
}

bool is_exchange(const Instruction& x) {
  return x.is(Opcode::all_gather) || x.is(Opcode::reduce_scatter) || x.is(Opcode::all_to_all) ||
         x.is(Opcode::collective_permute) || x.is(Opcode::collective_broadcast);
}

// Adds the kernels of a computation that runs `times`.
void add_kernels(const hlo::Computation& computation, double times,
                 std::span<const Instruction* const> recomputed, const Values& updated,
                 StepCost& step) {
  for (const hlo::Kernel& kernel : hlo::make_kernels(computation)) {
    if (kernel.loop != nullptr) {
      add_kernels(*kernel.loop, times * static_cast<double>(kernel.trips), {}, updated, step);
    } else if (!kernel.branches.empty()) {
      add_kernels(*kernel.branches[0], times, {}, updated, step);
    } else if (kernel.root->is(Opcode::all_reduce)) {
      for (const TensorType& type : kernel.root->results()) {
        step.all_reduce_bytes += times * hlo::array_bytes(type);
        step.all_reduces += times;
      }
    } else if (is_exchange(*kernel.root)) {
      step.link_bytes += times * link_bytes(*kernel.root);
    } else {
      OpCost cost = kernel_cost(kernel, updated);
      cost.times = times * static_cast<double>(1 + std::ranges::count(recomputed, kernel.root));
      step.ops.push_back(std::move(cost));
    }
  }
}

bool is_free_on_cpu(const Instruction& x) {
  return x.is(Opcode::parameter) || x.is(Opcode::constant) || x.is(Opcode::return_) ||
         x.is(Opcode::optimization_barrier) || x.traits().has(hlo::kBitcast);
}

// Adds the instructions of a computation of fused ones that runs `times`.
void add_instructions(const hlo::Computation& computation, double times, StepCost& step) {
  for (const Instruction* x : computation.instructions()) {
    if (is_free_on_cpu(*x)) continue;
    if (x->is(Opcode::while_)) {
      const auto trips = hlo::LoopCounters(*x).trips();
      add_instructions(x->region(1), times * static_cast<double>(trips.value_or(1)), step);
    } else if (x->is(Opcode::if_) || x->is(Opcode::case_)) {
      add_instructions(x->region(0), times, step);
    } else if (!x->is(Opcode::all_reduce) && !is_exchange(*x)) {
      OpCost cost = op_cost(*x, hlo::cost_of(*x));
      cost.name = name_of(*x);
      cost.array_bytes = hlo::cost_of(*x).bytes();
      cost.times = times;
      step.ops.push_back(std::move(cost));
    }
  }
}

}  // namespace

StepCost cost_of(const hlo::Module& program, std::span<const Instruction* const> recomputed) {
  StepCost step;
  add_kernels(program.entry(), 1, recomputed, updated_parameters(program), step);
  return step;
}

StepCost step_of(const hlo::Module& program, const runtime::TpuGeneration& generation) {
  const auto optimized = hlo::tpu_program(program);
  const hlo::StepMemory memory = runtime::tpu_memory(*optimized, runtime::core_memory(generation));
  StepCost step = cost_of(*optimized, memory.recomputed);
  step.resident_bytes = memory.total();
  return step;
}

StepCost cpu_cost_of(const hlo::Module& program) {
  const auto optimized = program.clone();
  hlo::optimize(*optimized);
  hlo::FusionPass().run(*optimized);
  StepCost step;
  add_instructions(optimized->entry(), 1, step);
  return step;
}

}  // namespace systole::profile
