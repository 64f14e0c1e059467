#include <cmath>

#include "systole/base/error.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_is_finite(const InferContext& context) {
  const TensorType& x = context.operand(0);
  if (!is_floating(x.dtype)) {  // I1
    throw invalid_argument("is_finite: element type, got {}, expected floating-point", x.dtype);
  }
  return {{DType::pred, x.shape}};  // C1
}

std::vector<Tensor> evaluate_is_finite(const Instruction&, std::span<const Tensor> operands,
                                       const Evaluator&) {
  const Tensor& x = operands[0];
  Tensor y(DType::pred, x.shape());
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    y.data<bool>()[i] = std::isfinite(x.as_double(i));
  }
  return {y};
}

}  // namespace

extern const OpSemantics is_finite_semantics{
    .infer = infer_is_finite,
    .evaluate = evaluate_is_finite,
    .format = AssemblyFormat{"$*", TypeForm::functional},
    .example =
        OpExample{.parameters = "%a: tensor<4x$T>",
                  .results = "tensor<4xi1>",
                  .body = R"(%r = "stablehlo.is_finite"(%a) : (tensor<4x$T>) -> tensor<4xi1>)"}};

}  // namespace systole::hlo::ops
