#include <cstring>

#include "systole/base/error.h"
#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_select(const InferContext& context) {
  const TensorType& pred = context.operand(0);
  const TensorType& on_true = context.operand(1);
  const TensorType& on_false = context.operand(2);
  if (pred.dtype != DType::pred) {  // I1
    throw invalid_argument("select: element type of pred, got {}, expected pred", pred.dtype);
  }
  if (pred.shape.rank() != 0 && pred.shape != on_true.shape) {  // C1
    throw invalid_argument("select: shape of pred, got {}, expected a scalar or on_true's {}",
                           pred.shape, on_true.shape);
  }
  if (on_true != on_false) {  // C2
    throw invalid_argument("select: types of on_true and on_false, got {} and {}, expected equal",
                           on_true, on_false);
  }
  return {on_true};
}

std::vector<Tensor> evaluate_select(const Instruction& instruction,
                                    std::span<const Tensor> operands, const Evaluator&) {
  const Tensor pred = splat_to(operands[0], instruction.shape());
  const auto size = static_cast<size_t>(size_of(instruction.dtype()));
  Tensor result(instruction.type());
  for (size_t i = 0; i < pred.data<bool>().size(); ++i) {
    const Tensor& chosen = pred.data<bool>()[i] ? operands[1] : operands[2];
    std::memcpy(static_cast<std::byte*>(result.raw()) + i * size,
                static_cast<const std::byte*>(chosen.raw()) + i * size, size);
  }
  return {result};
}

}  // namespace

extern const OpSemantics select_semantics{
    .infer = infer_select,
    .evaluate = evaluate_select,
    .format = AssemblyFormat{"$*", TypeForm::select},
    .example =
        OpExample{
            .parameters = "%p: tensor<4xi1>, %a: tensor<4x$T>, %b: tensor<4x$T>",
            .results = "tensor<4x$T>",
            .body =
                R"(%r = "stablehlo.select"(%p, %a, %b) : (tensor<4xi1>, tensor<4x$T>, tensor<4x$T>) -> tensor<4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::picks}};

}  // namespace systole::hlo::ops
