#include <cmath>

#include "systole/base/error.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/semantics/batch_norm.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_batch_norm_grad(const InferContext& context) {
  const TensorType features =
      check_batch_norm(context, {"scale", "mean", "variance"});  // C1, C2, C4, C5
  if (context.operand(4) != context.operand(0)) {                // C2, C3
    throw invalid_argument("batch_norm_grad: type of grad_output, got {}, expected {}",
                           context.operand(4), context.operand(0));
  }
  return {context.operand(0), features, features};
}

// Variable names as in the specification.
std::vector<Tensor> evaluate_batch_norm_grad(const Instruction& instruction,
                                             std::span<const Tensor> operands, const Evaluator&) {
  const auto& attrs = instruction.attrs<BatchNormAttrs>();
  const FeatureWalk features(operands[0], attrs.feature_index);
  const FeatureWalk grads(operands[4], attrs.feature_index);
  const Tensor scale = operands[1].cast(DType::f64);
  const Tensor mean = operands[2].cast(DType::f64);
  const Tensor variance = operands[3].cast(DType::f64);
  const std::span<const double> x = features.elements();
  const auto centered = [&](size_t i, size_t f) { return x[i] - mean.data<double>()[f]; };
  const auto spread = [&](size_t f) { return variance.data<double>()[f] + attrs.epsilon; };
  const Tensor grad_offset = grads.sum([](double dy, size_t, size_t) { return dy; });
  const Tensor i3 = grads.sum([&](double dy, size_t f, size_t i) { return dy * centered(i, f); });
  const double n = features.elements_per_feature();
  const Tensor grad_operand = grads.map([&](double dy, size_t f, size_t i) {
    const double i5 = i3.data<double>()[f] * centered(i, f) / spread(f);
    const double i6 = dy * n - grad_offset.data<double>()[f] - i5;
    return scale.data<double>()[f] / std::sqrt(spread(f)) / n * i6;
  });
  Tensor grad_scale = i3.clone();
  for (size_t f = 0; f < grad_scale.data<double>().size(); ++f) {
    grad_scale.data<double>()[f] /= std::sqrt(spread(f));
  }
  const DType dtype = instruction.dtype();
  return {grad_operand.cast(dtype), grad_scale.cast(dtype), grad_offset.cast(dtype)};
}

}  // namespace

extern const OpSemantics batch_norm_grad_semantics{
    .infer = infer_batch_norm_grad,
    .evaluate = evaluate_batch_norm_grad,
    .example =
        OpExample{
            .parameters =
                "%a: tensor<4x2x$T>, %s: tensor<2x$T>, %m: tensor<2x$T>, %v: tensor<2x$T>, "
                "%g: tensor<4x2x$T>",
            .results = "tensor<4x2x$T>, tensor<2x$T>, tensor<2x$T>",
            .body =
                R"(%r:3 = "stablehlo.batch_norm_grad"(%a, %s, %m, %v, %g) {epsilon = 1.0 : f32, feature_index = 1 : i64} : (tensor<4x2x$T>, tensor<2x$T>, tensor<2x$T>, tensor<2x$T>, tensor<4x2x$T>) -> (tensor<4x2x$T>, tensor<2x$T>, tensor<2x$T>))"},
    .quantized = OpQuantization{.form = QuantizedForm::real},
    .shard = spmd::shard_batch_norm};

}  // namespace systole::hlo::ops
