#include "systole/profile/prediction/program_cost.h"

#include <algorithm>

#include "systole/hlo/passes/counted_loop.h"
#include "systole/hlo/passes/fusion.h"
#include "systole/hlo/passes/pipeline.h"
#include "systole/runtime/tpu_tiles.h"

namespace systole::profile {
namespace {

using hlo::Instruction;
using hlo::Opcode;

// Operations of the vector unit for one element.
constexpr double kTranscendentalOps = 16;

using BytesOf = double (*)(const TensorType& type);

double padded_bytes(const TensorType& type) {
  return type.is_static() ? static_cast<double>(runtime::padded_bytes(type)) : 0;
}
double array_bytes(const TensorType& type) {
  return type.is_static() ? static_cast<double>(type.byte_size()) : 0;
}

// All operands and results; repeated operands once.
double traffic(const Instruction& x, BytesOf bytes_of) {
  double bytes = 0;
  for (const TensorType& type : x.results()) bytes += bytes_of(type);
  // Only the selected or replaced elements are accessed.
  if (x.is(Opcode::dynamic_slice) || x.is(Opcode::gather) || x.is(Opcode::slice)) return 2 * bytes;
  if (x.is(Opcode::dynamic_update_slice)) return 2 * bytes_of(x.operand(1).type());
  std::vector<hlo::Value> seen;
  for (const hlo::Value& operand : x.operands()) {
    if (std::ranges::find(seen, operand) != seen.end()) continue;
    seen.push_back(operand);
    bytes += bytes_of(operand.type());
  }
  return bytes;
}

double vector_ops(const Instruction& x) {
  if (x.is(Opcode::fusion)) {
    double ops = 0;
    for (const Instruction* inner : x.region().instructions()) ops += vector_ops(*inner);
    return ops;
  }
  if (x.num_results() == 0) return 0;
  if (x.is(Opcode::reduce)) return static_cast<double>(x.operand(0).shape().num_elements());
  if (!x.traits().has(hlo::kElementwise)) return 0;
  const auto elements = static_cast<double>(x.shape().num_elements());
  return elements * (x.traits().has(hlo::kTranscendental) ? kTranscendentalOps : 1);
}

int64_t size_at(const Shape& shape, const Dims& axes) {
  int64_t size = 1;
  for (const int64_t axis : axes) size *= shape[static_cast<int>(axis)];
  return size;
}

void add_product(const Instruction& x, OpCost& cost) {
  const auto& attrs = x.attrs<hlo::DotAttrs>();
  const Shape& lhs = x.operand(0).shape();
  const Shape& rhs = x.operand(1).shape();
  const int64_t batch = size_at(lhs, attrs.lhs_batching_dimensions);
  const int64_t k = size_at(lhs, attrs.lhs_contracting_dimensions);
  if (batch * k == 0) return;
  const int64_t m = lhs.num_elements() / (batch * k);
  const int64_t n = rhs.num_elements() / (batch * k);
  cost.matrix_cycles = static_cast<double>(batch) * product_cycles(m, k, n);
  cost.flops = 2 * static_cast<double>(batch * m) * static_cast<double>(k * n);
}

void add_convolution(const Instruction& x, OpCost& cost) {
  const auto& attrs = x.attrs<hlo::ConvolutionAttrs>();
  const Shape& kernel = x.operand(1).shape();
  const int64_t features = kernel[static_cast<int>(attrs.kernel_output_feature_dimension)];
  if (features == 0 || x.shape().num_elements() == 0) return;
  const int64_t groups = std::max(attrs.feature_group_count, attrs.batch_group_count);
  const int64_t m = x.shape().num_elements() / features;
  const int64_t k = kernel.num_elements() / features;
  // Zeros that dilation puts between elements are not multiplied.
  double dilation = 1;
  for (const int64_t d : attrs.lhs_dilation) dilation *= static_cast<double>(d);
  cost.matrix_cycles =
      static_cast<double>(groups) * product_cycles(m, k, features / groups) / dilation;
  cost.flops = 2 * static_cast<double>(m) * static_cast<double>(k * features) / dilation;
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
    for (const TensorType& type : x.results()) step.all_reduce_bytes += times * array_bytes(type);
    return;
  }
  OpCost cost{.name = name_of(x),
              .vector_ops = vector_ops(x),
              .memory_bytes = traffic(x, padded_bytes),
              .array_bytes = traffic(x, array_bytes)};
  if (x.is(Opcode::dot_general)) add_product(x, cost);
  if (x.is(Opcode::convolution)) add_convolution(x, cost);
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
