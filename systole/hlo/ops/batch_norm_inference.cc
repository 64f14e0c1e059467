#include "systole/base/error.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/semantics/batch_norm.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_batch_norm_inference(const InferContext& context) {
  check_batch_norm(context, {"scale", "offset", "mean", "variance"});  // C1 - C6
  return {context.operand(0)};                                         // C7
}

std::vector<Tensor> evaluate_batch_norm_inference(const Instruction& instruction,
                                                  std::span<const Tensor> operands,
                                                  const Evaluator&) {
  const auto& attrs = instruction.attrs<BatchNormAttrs>();
  const FeatureWalk features(operands[0], attrs.feature_index);
  return {normalized(features, operands[1], operands[2], operands[3].cast(DType::f64),
                     operands[4].cast(DType::f64), attrs.epsilon)};
}

}  // namespace

extern const OpSemantics batch_norm_inference_semantics{
    .infer = infer_batch_norm_inference,
    .evaluate = evaluate_batch_norm_inference,
    .example =
        OpExample{
            .parameters =
                "%a: tensor<4x2x$T>, %s: tensor<2x$T>, %o: tensor<2x$T>, %m: tensor<2x$T>, "
                "%v: tensor<2x$T>",
            .results = "tensor<4x2x$T>",
            .body =
                R"(%r = "stablehlo.batch_norm_inference"(%a, %s, %o, %m, %v) {epsilon = 1.0 : f32, feature_index = 1 : i64} : (tensor<4x2x$T>, tensor<2x$T>, tensor<2x$T>, tensor<2x$T>, tensor<2x$T>) -> tensor<4x2x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::real},
    .shard = spmd::shard_batch_norm};

}  // namespace systole::hlo::ops
