#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/dynamic_start.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_dynamic_slice(const InferContext& context) {
  const TensorType& operand = context.operand(0);
  const Dims& sizes = context.get<DynamicSliceAttrs>().slice_sizes;
  check_count(context.opcode, "slice_sizes", sizes.size(), operand.shape.rank());  // C2
  check_start_indices(context, 1);                                                 // C2, C3
  check_slice_sizes(context.opcode, "slice_sizes", sizes, operand.shape);          // C4
  return {{operand.dtype, Shape(sizes)}};                                          // C1, C5
}

std::vector<Tensor> evaluate_dynamic_slice(const Instruction& instruction,
                                           std::span<const Tensor> operands, const Evaluator&) {
  const Tensor& operand = operands[0];
  Tensor result(instruction.type());
  const StridedView from =
      view_at_start(operand.shape(), operands.subspan(1), result.shape().dims());
  copy_strided(result, view_of(result.shape()), operand, from, result.shape().dims());
  return {result};
}

}  // namespace

extern const OpSemantics dynamic_slice_semantics{
    .infer = infer_dynamic_slice,
    .evaluate = evaluate_dynamic_slice,
    .format = AssemblyFormat{"$*, sizes = <slice_sizes>", TypeForm::functional},
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>, %i: tensor<i32>",
            .results = "tensor<2x$T>",
            .body =
                R"(%r = "stablehlo.dynamic_slice"(%a, %i) {slice_sizes = array<i64: 2>} : (tensor<4x$T>, tensor<i32>) -> tensor<2x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::moves},
    .vectorize = replicas::vectorize_dynamic_slice,
    .shard = spmd::shard_dynamic_slice};

}  // namespace systole::hlo::ops
