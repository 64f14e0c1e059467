#include "systole/base/error.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/semantics/batch_norm.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_batch_norm_training(const InferContext& context) {
  const TensorType features = check_batch_norm(context, {"scale", "offset"});  // C1 - C4
  return {context.operand(0), features, features};                             // C5 - C7
}

std::vector<Tensor> evaluate_batch_norm_training(const Instruction& instruction,
                                                 std::span<const Tensor> operands,
                                                 const Evaluator&) {
  const auto& attrs = instruction.attrs<BatchNormAttrs>();
  const FeatureWalk features(operands[0], attrs.feature_index);
  const Tensor mean = features.mean([](double x, size_t, size_t) { return x; });
  const Tensor variance = features.mean([&](double x, size_t feature, size_t) {
    const double centered = x - mean.data<double>()[feature];
    return centered * centered;
  });
  const DType dtype = instruction.dtype();
  return {normalized(features, operands[1], operands[2], mean, variance, attrs.epsilon),
          mean.cast(dtype), variance.cast(dtype)};
}

}  // namespace

extern const OpSemantics batch_norm_training_semantics{
    .infer = infer_batch_norm_training,
    .evaluate = evaluate_batch_norm_training,
    .example =
        OpExample{
            .parameters = "%a: tensor<4x2x$T>, %s: tensor<2x$T>, %o: tensor<2x$T>",
            .results = "tensor<4x2x$T>, tensor<2x$T>, tensor<2x$T>",
            .body =
                R"(%r:3 = "stablehlo.batch_norm_training"(%a, %s, %o) {epsilon = 1.0 : f32, feature_index = 1 : i64} : (tensor<4x2x$T>, tensor<2x$T>, tensor<2x$T>) -> (tensor<4x2x$T>, tensor<2x$T>, tensor<2x$T>))"},
    .quantized = OpQuantization{.form = QuantizedForm::real},
    .shard = spmd::shard_batch_norm};

}  // namespace systole::hlo::ops
