#include "systole/base/error.h"
#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

void check_bound(std::string_view name, const TensorType& bound, const TensorType& operand) {
  if (bound.shape.rank() != 0 && bound.shape != operand.shape) {
    throw invalid_argument("clamp: shape of {}, got {}, expected a scalar or the operand's {}",
                           name, bound.shape, operand.shape);
  }
  if (bound.dtype != operand.dtype) {  // C3
    throw invalid_argument("clamp: element type of {}, got {}, expected the operand's {}", name,
                           bound.dtype, operand.dtype);
  }
}

std::vector<TensorType> infer_clamp(const InferContext& context) {
  const TensorType& operand = context.operand(1);
  check_bound("min", context.operand(0), operand);  // C1
  check_bound("max", context.operand(2), operand);  // C2
  if (!is_numeric(operand.dtype)) {
    throw invalid_argument("clamp: element type, got {}, expected a numeric one", operand.dtype);
  }
  return {operand};  // C4
}

// minimum(maximum(operand, min), max), as the specification writes it.
std::vector<Tensor> evaluate_clamp(const Instruction& instruction, std::span<const Tensor> operands,
                                   const Evaluator& evaluator) {
  const Shape& shape = instruction.shape();
  const std::vector<Tensor> above{operands[1], splat_to(operands[0], shape)};
  Tensor raised = semantics_of(Opcode::maximum).evaluate(instruction, above, evaluator)[0];
  const std::vector<Tensor> below{std::move(raised), splat_to(operands[2], shape)};
  return semantics_of(Opcode::minimum).evaluate(instruction, below, evaluator);
}

}  // namespace

extern const OpSemantics clamp_semantics{.infer = infer_clamp,
                                         .evaluate = evaluate_clamp,
                                         .format = AssemblyFormat{"$*", TypeForm::same},
                                         .quantized = OpQuantization{.form = QuantizedForm::picks}};

}  // namespace systole::hlo::ops
