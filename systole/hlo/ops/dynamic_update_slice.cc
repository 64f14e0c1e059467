#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/dynamic_start.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_dynamic_update_slice(const InferContext& context) {
  const TensorType& operand = context.operand(0);
  const TensorType& update = context.operand(1);
  check_dtype(context.opcode, "update", update.dtype, operand.dtype);  // C2
  check_count(context.opcode, "shape of update", update.shape.dims().size(),
              operand.shape.rank());  // C3
  check_start_indices(context, 2);    // C4, C5
  check_slice_sizes(context.opcode, "shape of update", update.shape.dims(), operand.shape);  // C6
  return {operand};                                                                          // C1
}

std::vector<Tensor> evaluate_dynamic_update_slice(const Instruction&,
                                                  std::span<const Tensor> operands,
                                                  const Evaluator&) {
  const Tensor& update = operands[1];
  Tensor result = operands[0].clone();
  const StridedView to = view_at_start(result.shape(), operands.subspan(2), update.shape().dims());
  copy_strided(result, to, update, view_of(update.shape()), update.shape().dims());
  return {result};
}

}  // namespace

extern const OpSemantics dynamic_update_slice_semantics{
    .infer = infer_dynamic_update_slice,
    .evaluate = evaluate_dynamic_update_slice,
    .format = AssemblyFormat{"$*", TypeForm::functional},
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>, %u: tensor<2x$T>, %i: tensor<i32>",
            .results = "tensor<4x$T>",
            .body =
                R"(%r = "stablehlo.dynamic_update_slice"(%a, %u, %i) : (tensor<4x$T>, tensor<2x$T>, tensor<i32>) -> tensor<4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::moves},
    .vectorize = replicas::vectorize_dynamic_update_slice,
    .shard = spmd::shard_dynamic_update_slice};

}  // namespace systole::hlo::ops
