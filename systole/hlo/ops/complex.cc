#include <algorithm>
#include <complex>

#include "systole/base/error.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_complex(const InferContext& context) {
  const TensorType& lhs = context.operand(0);
  const TensorType& rhs = context.operand(1);
  if (lhs != rhs) {  // C1
    throw invalid_argument("complex: operand types, got {} and {}, expected equal", lhs, rhs);
  }
  if (lhs.dtype != DType::f32 && lhs.dtype != DType::f64) {  // I1, I2
    throw invalid_argument("complex: element type, got {}, expected f32 or f64", lhs.dtype);
  }
  return {{lhs.dtype == DType::f32 ? DType::c64 : DType::c128, lhs.shape}};  // C2, C3
}

template <class Part>
Tensor join(const Tensor& lhs, const Tensor& rhs) {
  Tensor result(dtype_of<std::complex<Part>>(), lhs.shape());
  std::ranges::transform(lhs.data<Part>(), rhs.data<Part>(),
                         result.data<std::complex<Part>>().begin(),
                         [](Part real, Part imag) { return std::complex<Part>(real, imag); });
  return result;
}

std::vector<Tensor> evaluate_complex(const Instruction&, std::span<const Tensor> operands,
                                     const Evaluator&) {
  const bool narrow = operands[0].dtype() == DType::f32;
  return {(narrow ? join<float> : join<double>)(operands[0], operands[1])};
}

}  // namespace

extern const OpSemantics complex_semantics{
    .infer = infer_complex,
    .evaluate = evaluate_complex,
    .format = AssemblyFormat{"$*", TypeForm::complex},
    .example = OpExample{
        .parameters = "%a: tensor<4x$T>, %b: tensor<4x$T>",
        .results = "tensor<4xcomplex<$T>>",
        .body =
            R"(%r = "stablehlo.complex"(%a, %b) : (tensor<4x$T>, tensor<4x$T>) -> tensor<4xcomplex<$T>>)"}};

}  // namespace systole::hlo::ops
