#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/index.h"

namespace systole::hlo::ops {
namespace {

// C3 (at least one input) is a column of the opcode table.
std::vector<TensorType> infer_concatenate(const InferContext& context) {
  const int64_t dimension = context.get<ConcatenateAttrs>().dimension;
  TensorType result = context.operand(0);
  check_axes(context.opcode, "dimension", {&dimension, 1}, result.shape.rank());  // C4
  const int axis = static_cast<int>(dimension);
  Wide size = result.shape[axis];
  for (int i = 1; i < context.num_operands(); ++i) {
    const TensorType& input = context.operand(i);
    const std::string what = fmt::format("input {}", i);
    check_dtype(context.opcode, what, input.dtype, result.dtype);  // C1
    Shape expected = context.operand(0).shape;
    if (input.shape.rank() == expected.rank()) expected.set_dim(axis, input.shape[axis]);
    check_shape(context.opcode, what, input.shape, expected);  // C2
    size += input.shape[axis];
  }
  result.shape.set_dim(axis, check_dim(context.opcode, "dimension of result", size));  // C5, C6
  return {result};
}

std::vector<Tensor> evaluate_concatenate(const Instruction& instruction,
                                         std::span<const Tensor> operands, const Evaluator&) {
  return {
      concatenated(operands, static_cast<int>(instruction.attrs<ConcatenateAttrs>().dimension))};
}

}  // namespace

extern const OpSemantics concatenate_semantics{
    .infer = infer_concatenate,
    .evaluate = evaluate_concatenate,
    .format = AssemblyFormat{"$*, dim = <dimension>", TypeForm::functional},
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>, %b: tensor<4x$T>",
            .results = "tensor<8x$T>",
            .body =
                R"(%r = "stablehlo.concatenate"(%a, %b) {dimension = 0 : i64} : (tensor<4x$T>, tensor<4x$T>) -> tensor<8x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::moves},
    .moves_elements = true,
    .vectorize = replicas::vectorize_concatenate,
    .shard = spmd::shard_concatenate};

}  // namespace systole::hlo::ops
