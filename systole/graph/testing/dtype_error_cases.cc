// Ops of math_ops.h on a dtype that they do not have.
#include "systole/graph/api/math_ops.h"
#include "systole/graph/testing/math_op_cases.h"

namespace systole::graph_testing {

std::vector<OpCase> dtype_error_cases() {
  const Tensor ints = Tensor::zeros(DType::s32, {3});
  const Tensor flags = Tensor::zeros(DType::pred, {3});
  const auto row = [](const std::string& op, BuildFn build, const Tensor& input,
                      std::string error) {
    return OpCase{.name = "error_dtype_of_" + op,
                  .build = std::move(build),
                  .inputs = {input},
                  .error = std::move(error)};
  };
  return {
      row(
          "subtract", [](auto& x) { return subtract(x[0], x[0]); }, flags,
          "Sub: dtype, got pred, expected a floating or integer one"),
      row(
          "multiply", [](auto& x) { return multiply(x[0], x[0]); }, flags,
          "Mul: dtype, got pred, expected a floating or integer one"),
      row(
          "mod", [](auto& x) { return mod(x[0], x[0]); }, flags,
          "FloorMod: dtype, got pred, expected a floating or integer one"),
      row(
          "floordiv", [](auto& x) { return floordiv(x[0], x[0]); }, flags,
          "FloorDiv: dtype, got pred, expected a floating or integer one"),
      row(
          "pow", [](auto& x) { return pow(x[0], x[0]); }, flags,
          "Pow: dtype, got pred, expected a floating or integer one"),
      row(
          "maximum", [](auto& x) { return maximum(x[0], x[0]); }, flags,
          "Maximum: dtype, got pred, expected a floating or integer one"),
      row(
          "minimum", [](auto& x) { return minimum(x[0], x[0]); }, flags,
          "Minimum: dtype, got pred, expected a floating or integer one"),
      row(
          "less", [](auto& x) { return less(x[0], x[0]); }, flags,
          "Less: dtype, got pred, expected a floating or integer one"),
      row(
          "less_equal", [](auto& x) { return less_equal(x[0], x[0]); }, flags,
          "LessEqual: dtype, got pred, expected a floating or integer one"),
      row(
          "greater", [](auto& x) { return greater(x[0], x[0]); }, flags,
          "Greater: dtype, got pred, expected a floating or integer one"),
      row(
          "greater_equal", [](auto& x) { return greater_equal(x[0], x[0]); }, flags,
          "GreaterEqual: dtype, got pred, expected a floating or integer one"),
      row(
          "abs", [](auto& x) { return abs(x[0]); }, flags,
          "Abs: dtype, got pred, expected a floating or signed integer one"),
      row(
          "sign", [](auto& x) { return sign(x[0]); }, flags,
          "Sign: dtype, got pred, expected a floating or signed integer one"),
      row(
          "square", [](auto& x) { return square(x[0]); }, flags,
          "Square: dtype, got pred, expected a floating or integer one"),
      row(
          "relu", [](auto& x) { return relu(x[0]); }, flags,
          "Relu: dtype, got pred, expected a floating or integer one"),
      row(
          "relu6", [](auto& x) { return relu6(x[0]); }, flags,
          "Relu6: dtype, got pred, expected a floating or integer one"),
      row(
          "log", [](auto& x) { return log(x[0]); }, ints,
          "Log: dtype, got s32, expected a floating one"),
      row(
          "log1p", [](auto& x) { return log1p(x[0]); }, ints,
          "Log1p: dtype, got s32, expected a floating one"),
      row(
          "expm1", [](auto& x) { return expm1(x[0]); }, ints,
          "Expm1: dtype, got s32, expected a floating one"),
      row(
          "sqrt", [](auto& x) { return sqrt(x[0]); }, ints,
          "Sqrt: dtype, got s32, expected a floating one"),
      row(
          "rsqrt", [](auto& x) { return rsqrt(x[0]); }, ints,
          "Rsqrt: dtype, got s32, expected a floating one"),
      row(
          "sin", [](auto& x) { return sin(x[0]); }, ints,
          "Sin: dtype, got s32, expected a floating one"),
      row(
          "cos", [](auto& x) { return cos(x[0]); }, ints,
          "Cos: dtype, got s32, expected a floating one"),
      row(
          "tanh", [](auto& x) { return tanh(x[0]); }, ints,
          "Tanh: dtype, got s32, expected a floating one"),
      row(
          "sigmoid", [](auto& x) { return sigmoid(x[0]); }, ints,
          "Sigmoid: dtype, got s32, expected a floating one"),
      row(
          "elu", [](auto& x) { return elu(x[0]); }, ints,
          "Elu: dtype, got s32, expected a floating one"),
      row(
          "selu", [](auto& x) { return selu(x[0]); }, ints,
          "Selu: dtype, got s32, expected a floating one"),
      row(
          "leaky_relu", [](auto& x) { return leaky_relu(x[0]); }, ints,
          "LeakyRelu: dtype, got s32, expected a floating one"),
      row(
          "softplus", [](auto& x) { return softplus(x[0]); }, ints,
          "Softplus: dtype, got s32, expected a floating one"),
      row(
          "softsign", [](auto& x) { return softsign(x[0]); }, ints,
          "Softsign: dtype, got s32, expected a floating one"),
      row(
          "erf", [](auto& x) { return erf(x[0]); }, ints,
          "Erf: dtype, got s32, expected a floating one"),
      row(
          "l2_loss", [](auto& x) { return l2_loss(x[0]); }, ints,
          "L2Loss: dtype, got s32, expected a floating one"),
      row(
          "reduce_mean", [](auto& x) { return reduce_mean(x[0]); }, flags,
          "Mean: dtype, got pred, expected a floating or integer one"),
      row(
          "reduce_min", [](auto& x) { return reduce_min(x[0]); }, flags,
          "Min: dtype, got pred, expected a floating or integer one"),
      row(
          "reduce_prod", [](auto& x) { return reduce_prod(x[0]); }, flags,
          "Prod: dtype, got pred, expected a floating or integer one"),
      row(
          "argmin", [](auto& x) { return argmin(x[0]); }, flags,
          "ArgMin: dtype, got pred, expected a floating or integer one"),
      row(
          "reduce_all", [](auto& x) { return reduce_all(x[0]); }, ints,
          "All: dtype, got s32, expected pred"),
      row(
          "logical_or", [](auto& x) { return logical_or(x[0], x[0]); }, ints,
          "LogicalOr: dtype, got s32, expected pred"),
      row(
          "logical_not", [](auto& x) { return logical_not(x[0]); }, ints,
          "LogicalNot: dtype, got s32, expected pred"),
      row(
          "not_equal", [](auto& x) { return not_equal(x[0], cast(x[0], DType::f32)); }, ints,
          "NotEqual: dtypes, got s32[3] and f32[3], expected equal ones"),
      row(
          "reduce_logsumexp", [](auto& x) { return reduce_logsumexp(x[0]); }, ints,
          "dtype, got s32, expected a floating one"),
      row(
          "clip_by_global_norm", [](auto&) { return clip_by_global_norm({Output()}, 1.0).first; },
          ints, "global_norm: tensors, got none, expected at least one"),
  };
}

}  // namespace systole::graph_testing
