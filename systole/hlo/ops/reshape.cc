#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/checks.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_reshape(const InferContext& context) {
  const TensorType& operand = context.operand(0);
  const TensorType& result = context.declared_type();
  check_dtype(context.opcode, "result", result.dtype, operand.dtype);  // C1
  if (result.shape.num_elements() != operand.shape.num_elements()) {   // C2
    throw invalid_argument("reshape: shape of result, got {} from {}, expected {} elements",
                           result.shape, operand.shape, operand.shape.num_elements());
  }
  return {result};
}

std::vector<Tensor> evaluate_reshape(const Instruction& instruction,
                                     std::span<const Tensor> operands, const Evaluator&) {
  return {operands[0].reshape(instruction.shape())};
}

}  // namespace

extern const OpSemantics reshape_semantics{
    .infer = infer_reshape,
    .evaluate = evaluate_reshape,
    .format = AssemblyFormat{"$*", TypeForm::functional},
    .example =
        OpExample{.parameters = "%a: tensor<4x$T>",
                  .results = "tensor<2x2x$T>",
                  .body = R"(%r = "stablehlo.reshape"(%a) : (tensor<4x$T>) -> tensor<2x2x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::moves, .per_axis = true},
    .moves_elements = true,
    .vectorize = replicas::vectorize_same_attrs,
    .sum_over_replicas = replicas::sum_linear,
    .shard = spmd::shard_reshape};

}  // namespace systole::hlo::ops
