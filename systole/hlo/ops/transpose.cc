#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/index.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_transpose(const InferContext& context) {
  const TensorType& operand = context.operand(0);
  const Dims& permutation = context.get<TransposeAttrs>().permutation;
  // C2: a permutation of the operand's axes.
  check_count(context.opcode, "permutation", permutation.size(), operand.shape.rank());
  check_axes(context.opcode, "permutation", permutation, operand.shape.rank());
  check_unique(context.opcode, "permutation", permutation);
  Dims dims;
  for (const int64_t axis : permutation) {
    dims.push_back(operand.shape[static_cast<int>(axis)]);  // C3
  }
  return {{operand.dtype, Shape(std::move(dims))}};  // C1
}

std::vector<Tensor> evaluate_transpose(const Instruction& instruction,
                                       std::span<const Tensor> operands, const Evaluator&) {
  return {permuted(operands[0], instruction.attrs<TransposeAttrs>().permutation)};
}

}  // namespace

extern const OpSemantics transpose_semantics{
    .infer = infer_transpose,
    .evaluate = evaluate_transpose,
    .format = AssemblyFormat{"$*, dims = <permutation>", TypeForm::functional},
    .example =
        OpExample{
            .parameters = "%a: tensor<2x3x$T>",
            .results = "tensor<3x2x$T>",
            .body =
                R"(%r = "stablehlo.transpose"(%a) {permutation = array<i64: 1, 0>} : (tensor<2x3x$T>) -> tensor<3x2x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::moves, .per_axis = true},
    .moves_elements = true,
    .vectorize = replicas::vectorize_transpose,
    .sum_over_replicas = replicas::sum_linear,
    .shard = spmd::shard_transpose};

}  // namespace systole::hlo::ops
