#include <cmath>

#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr UnaryKernel kAbs{
    .floating = [](double x) { return std::fabs(x); },
    .complex = [](std::complex<double> x) { return std::complex<double>(std::abs(x)); },
    // In unsigned arithmetic, so that the lowest value wraps to itself.
    .signed_integer = [](int64_t x) -> int64_t {
      return x < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x;
    },
};

std::vector<TensorType> infer_abs(const InferContext& context) {
  std::vector<TensorType> result = infer_elementwise(context, kAbs);  // C1
  result[0].dtype = real_dtype(result[0].dtype);                      // C2
  return result;
}

std::vector<Tensor> evaluate_abs(const Instruction& instruction, std::span<const Tensor> operands,
                                 const Evaluator&) {
  return {map_elements(kAbs, operands).cast(instruction.dtype())};
}

}  // namespace

extern const OpSemantics abs_semantics{
    .infer = infer_abs,
    .evaluate = evaluate_abs,
    .example = OpExample{.parameters = "%a: tensor<4x$T>",
                         .results = "tensor<4x$R>",
                         .body = R"(%r = "stablehlo.abs"(%a) : (tensor<4x$T>) -> tensor<4x$R>)"}};

}  // namespace systole::hlo::ops
