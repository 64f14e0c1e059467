#include <algorithm>
#include <complex>

#include "systole/base/error.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_imag(const InferContext& context) {
  const TensorType& x = context.operand(0);
  if (!is_floating(x.dtype) && !is_complex(x.dtype)) {  // I1
    throw invalid_argument("imag: element type, got {}, expected floating-point or complex",
                           x.dtype);
  }
  return {{real_dtype(x.dtype), x.shape}};  // C1, C2
}

template <class Complex>
Tensor imag_part(const Tensor& x) {
  using Part = typename Complex::value_type;
  Tensor result(dtype_of<Part>(), x.shape());
  std::ranges::transform(x.data<Complex>(), result.data<Part>().begin(),
                         [](Complex element) { return element.imag(); });
  return result;
}

std::vector<Tensor> evaluate_imag(const Instruction&, std::span<const Tensor> operands,
                                  const Evaluator&) {
  const Tensor& x = operands[0];
  if (x.dtype() == DType::c64) return {imag_part<std::complex<float>>(x)};
  if (x.dtype() == DType::c128) return {imag_part<std::complex<double>>(x)};
  return {Tensor::zeros(x.dtype(), x.shape())};
}

}  // namespace

extern const OpSemantics imag_semantics{
    .infer = infer_imag,
    .evaluate = evaluate_imag,
    .example = OpExample{.parameters = "%a: tensor<4x$T>",
                         .results = "tensor<4x$R>",
                         .body = R"(%r = "stablehlo.imag"(%a) : (tensor<4x$T>) -> tensor<4x$R>)"}};

}  // namespace systole::hlo::ops
