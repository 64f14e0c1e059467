#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/index.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_reverse(const InferContext& context) {
  const TensorType& operand = context.operand(0);
  const Dims& dimensions = context.get<DimensionsAttrs>().dimensions;
  check_unique(context.opcode, "dimensions", dimensions);                      // C2
  check_axes(context.opcode, "dimensions", dimensions, operand.shape.rank());  // C3
  return {operand};                                                            // C1
}

std::vector<Tensor> evaluate_reverse(const Instruction& instruction,
                                     std::span<const Tensor> operands, const Evaluator&) {
  return {reversed(operands[0], instruction.attrs<DimensionsAttrs>().dimensions)};
}

}  // namespace

extern const OpSemantics reverse_semantics{
    .infer = infer_reverse,
    .evaluate = evaluate_reverse,
    .format = AssemblyFormat{"$*, dims = <dimensions>", TypeForm::same},
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>",
            .results = "tensor<4x$T>",
            .body =
                R"(%r = "stablehlo.reverse"(%a) {dimensions = array<i64: 0>} : (tensor<4x$T>) -> tensor<4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::moves},
    .moves_elements = true,
    .vectorize = replicas::vectorize_reverse,
    .sum_over_replicas = replicas::sum_linear,
    .shard = spmd::shard_reverse};

}  // namespace systole::hlo::ops
