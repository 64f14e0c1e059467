#include "systole/base/error.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_convert(const InferContext& context) {
  const TensorType& from = context.operand(0);
  const TensorType& to = context.declared_type();
  if (to.shape != from.shape) {  // C1
    throw invalid_argument("convert: result shape, got {}, expected the operand's {}", to.shape,
                           from.shape);
  }
  if (!is_numeric(from.dtype) || !is_numeric(to.dtype)) {
    throw invalid_argument("convert: element types, got {} to {}, expected numeric ones",
                           from.dtype, to.dtype);
  }
  return {to};
}

// From complex to any other type: converts the real part, also to pred.
std::vector<Tensor> evaluate_convert(const Instruction& instruction,
                                     std::span<const Tensor> operands, const Evaluator&) {
  const DType to = instruction.dtype();
  const Tensor& x = operands[0];
  const bool drops_part = is_complex(x.dtype()) && !is_complex(to);
  return {(drops_part ? x.cast(real_dtype(x.dtype())) : x).cast(to)};
}

}  // namespace

extern const OpSemantics convert_semantics{
    .infer = infer_convert,
    .evaluate = evaluate_convert,
    .example =
        OpExample{.parameters = "%a: tensor<4x$T>",
                  .results = "tensor<4xf32>",
                  .body = R"(%r = "stablehlo.convert"(%a) : (tensor<4x$T>) -> tensor<4xf32>)"},
    .sum_over_replicas = replicas::sum_convert};

}  // namespace systole::hlo::ops
