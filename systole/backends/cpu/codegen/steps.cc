#include "systole/backends/cpu/codegen/steps.h"

#include <array>

#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/backends/cpu/codegen/elements.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;

// Their value is where it is.
void emit_nothing(FunctionEmitter&, const Instruction&) {}

struct Row {
  Opcode opcode;
  StepCode code;
};
// Opcodes with element code are loops over it, and need no row.
constexpr Row kSteps[] = {
    {Opcode::case_, emit_branches},
    {Opcode::concatenate, emit_concatenate},
    {Opcode::constant, emit_nothing},
    {Opcode::convolution, emit_convolution},
    {Opcode::dot_general, emit_dot},
    {Opcode::dynamic_update_slice, emit_dynamic_update_slice},
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

constexpr auto kByOpcode = [] {
  std::array<StepCode, hlo::kNumOpcodes> table{};
  for (const Row& row : kSteps) table[static_cast<size_t>(row.opcode)] = row.code;
  return table;
}();

}  // namespace

void emit_steps(FunctionEmitter& f, const hlo::Computation& computation) {
  for (const Instruction* x : computation.instructions()) emit_step(f, *x);
}

void emit_step(FunctionEmitter& f, const Instruction& x) {
  StepCode code = kByOpcode[static_cast<size_t>(x.opcode())];
  if (code == nullptr && element_code(x.opcode()) != nullptr) code = emit_element_loop;
  if (code == nullptr) throw_cannot_lower(x);
  code(f, x);
}

int64_t step_scratch_bytes(const Instruction& x, bool optimize) {
  if (!optimize) return 0;
  if (is_row_fusion(x)) return row_fusion_scratch_bytes(x);
  return x.is(Opcode::reduce) || x.is(Opcode::fusion) ? reduce_scratch_bytes(x) : 0;
}

double step_flops(const Instruction& x) {
  double total = 0;
  if (x.is(Opcode::fusion)) {
    for (const Instruction* inner : x.region().instructions()) total += step_flops(*inner);
  } else if (x.is(Opcode::dot_general)) {
    double contracted = 1;
    for (const int64_t d : x.attrs<hlo::DotAttrs>().lhs_contracting_dimensions) {
      contracted *= static_cast<double>(x.operand(0).shape()[static_cast<int>(d)]);
    }
    total = 2 * contracted * static_cast<double>(x.shape().num_elements());
  } else if (x.is(Opcode::convolution)) {
    const auto& attrs = x.attrs<hlo::ConvolutionAttrs>();
    const Shape& kernel = x.operand(1).shape();
    const double out_features =
        static_cast<double>(kernel[static_cast<int>(attrs.kernel_output_feature_dimension)]);
    total = 2 * static_cast<double>(x.shape().num_elements()) *
            static_cast<double>(kernel.num_elements()) / out_features;
  } else if (x.is(Opcode::reduce)) {
    total = static_cast<double>(x.operand(0).shape().num_elements());
  } else if (x.traits().has(hlo::kElementwise)) {
    total = static_cast<double>(x.shape().num_elements());
  }
  for (int r = 0; has_programs(x) && r < x.num_regions(); ++r) {
    for (const Instruction* inner : x.region(r).instructions()) total += step_flops(*inner);
  }
  return total;
}

std::vector<Slice> result_slices(const FunctionEmitter& f, const Instruction& x) {
  std::vector<Slice> result;
  for (int i = 0; i < x.num_results(); ++i)
    result.push_back(f.slice(const_cast<Instruction&>(x).result(i)));
  return result;
}

}  // namespace systole::cpu
