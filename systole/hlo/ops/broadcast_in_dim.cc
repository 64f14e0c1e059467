#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/index.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_broadcast_in_dim(const InferContext& context) {
  const TensorType& operand = context.operand(0);
  const TensorType& result = context.declared_type();
  const Dims& dimensions = context.get<BroadcastInDimAttrs>().broadcast_dimensions;
  check_dtype(context.opcode, "result", result.dtype, operand.dtype);  // C1
  check_count(context.opcode, "broadcast_dimensions", dimensions.size(),
              operand.shape.rank());                                                    // C2
  check_axes(context.opcode, "broadcast_dimensions", dimensions, result.shape.rank());  // C3
  check_unique(context.opcode, "broadcast_dimensions", dimensions);                     // C4
  for (int axis = 0; axis < operand.shape.rank(); ++axis) {                             // C5
    const int64_t to = dimensions[axis];
    const int64_t size = operand.shape[axis];
    if (size != 1 && size != result.shape[static_cast<int>(to)]) {
      throw invalid_argument(
          "broadcast_in_dim: operand {} in result {}, got axis {} for axis {}, expected equal "
          "sizes or 1",
          operand.shape, result.shape, axis, to);
    }
  }
  return {result};
}

std::vector<Tensor> evaluate_broadcast_in_dim(const Instruction& instruction,
                                              std::span<const Tensor> operands, const Evaluator&) {
  const Tensor& operand = operands[0];
  const Dims& dimensions = instruction.attrs<BroadcastInDimAttrs>().broadcast_dimensions;
  const Dims strides = operand.shape().strides();
  Tensor result(instruction.type());
  StridedView from{.offset = 0, .strides = Dims(result.shape().dims().size(), 0)};
  for (size_t axis = 0; axis < dimensions.size(); ++axis) {
    if (operand.dim(static_cast<int>(axis)) == 1) continue;
    from.strides[dimensions[axis]] = strides[axis];
  }
  copy_strided(result, view_of(result.shape()), operand, from, result.shape().dims());
  return {result};
}

}  // namespace

extern const OpSemantics broadcast_in_dim_semantics{
    .infer = infer_broadcast_in_dim,
    .evaluate = evaluate_broadcast_in_dim,
    .format = AssemblyFormat{"$*, dims = <broadcast_dimensions>", TypeForm::functional},
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>",
            .results = "tensor<3x4x$T>",
            .body =
                R"(%r = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = array<i64: 1>} : (tensor<4x$T>) -> tensor<3x4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::moves, .per_axis = true},
    .moves_elements = true,
    .vectorize = replicas::vectorize_broadcast_in_dim,
    .shard = spmd::shard_broadcast_in_dim};

}  // namespace systole::hlo::ops
