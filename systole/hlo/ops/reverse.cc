#include "systole/hlo/checks.h"
#include "systole/hlo/index.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  const TensorType& operand = context.operand(0);
  const Dims& dimensions = context.get<DimensionsAttrs>().dimensions;
  check_unique(context.opcode, "dimensions", dimensions);                        // C2
  check_axes(context.opcode, "dimensions", dimensions, operand.shape.rank());    // C3
  return {operand};                                                              // C1
}

std::vector<Tensor> evaluate(const Instruction& instruction, std::span<const Tensor> operands,
                             const Evaluator&) {
  const Tensor& operand = operands[0];
  StridedView from = view_of(operand.shape());
  for (const int64_t axis : instruction.attrs<DimensionsAttrs>().dimensions) {
    int64_t& stride = from.strides[static_cast<size_t>(axis)];
    from.offset += (operand.dim(static_cast<int>(axis)) - 1) * stride;
    stride = -stride;
  }
  Tensor result(operand.type());
  copy_strided(result, view_of(result.shape()), operand, from, result.shape().dims());
  return {result};
}

}  // namespace

extern const OpSemantics reverse_semantics;
const OpSemantics reverse_semantics{.infer = infer, .evaluate = evaluate};

}  // namespace systole::hlo::ops
