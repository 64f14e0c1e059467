#include "systole/backends/cpu/analysis/product_fusion.h"

#include <algorithm>

#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/backends/cpu/kernels/onednn_convolution.h"
#include "systole/backends/cpu/kernels/onednn_dot.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

// The number of the fusion's operand that a parameter of its region is.
int operand_number(const Value& parameter) {
  return static_cast<int>(parameter.def->attrs<hlo::ParameterAttrs>().index);
}

}  // namespace

void emit_product_fusion(FunctionEmitter& f, const Instruction& x) {
  const std::vector<Instruction*> inside = x.region().instructions();
  Instruction* const product = *std::ranges::find_if(inside, [](const Instruction* y) {
    return y->is(Opcode::dot_general) || y->is(Opcode::convolution);
  });
  std::vector<llvm::Value*> buffers;
  const auto add_buffer = [&](const Value& parameter) {
    buffers.push_back(f.address(f.slice(x.operand(operand_number(parameter)))));
  };
  for (const Value& operand : product->operands()) add_buffer(operand);
  Epilogue epilogue;
  Value so_far = product->result();
  for (Instruction* const y : inside) {
    auto match = match_step(*y, so_far);
    if (!match) continue;
    if (match->step.operand != EpilogueStep::Operand::scalar) {
      match->step.buffer = static_cast<int>(buffers.size());
      add_buffer(match->operand);
    }
    epilogue.push_back(match->step);
    so_far = y->result();
  }
  buffers.push_back(f.address(f.result_slices(x)[0]));
  const bool stays = stays_for_long(x, x.operand(operand_number(product->operand(1))));
  const int threads = f.program.num_threads;
  f.call_kernel(product->is(Opcode::convolution)
                    ? make_convolution_with_epilogue(*product, stays, threads, std::move(epilogue))
                    : make_dot_with_epilogue(*product, stays, threads, std::move(epilogue)),
                buffers);
}

}  // namespace systole::cpu
