#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/semantics/checks.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_get_dimension_size(const InferContext& context) {
  const int64_t dimension = context.get<GetDimensionSizeAttrs>().dimension;
  check_axes(context.opcode, "dimension", {&dimension, 1}, context.operand(0).shape.rank());  // C1
  return {{DType::s32, {}}};
}

std::vector<Tensor> evaluate_get_dimension_size(const Instruction& instruction,
                                                std::span<const Tensor> operands,
                                                const Evaluator&) {
  const auto axis = static_cast<int>(instruction.attrs<GetDimensionSizeAttrs>().dimension);
  return {Tensor(operands[0].dim(axis)).cast(DType::s32)};
}

}  // namespace

extern const OpSemantics get_dimension_size_semantics{
    .infer = infer_get_dimension_size,
    .evaluate = evaluate_get_dimension_size,
    .format = AssemblyFormat{"$*, dim = <dimension>", TypeForm::functional},
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>",
            .results = "tensor<i32>",
            .body =
                R"(%r = "stablehlo.get_dimension_size"(%a) {dimension = 0 : i64} : (tensor<4x$T>) -> tensor<i32>)"},
    .quantized = OpQuantization{.form = QuantizedForm::moves, .per_axis = true},
    .shard = spmd::shard_get_dimension_size};

}  // namespace systole::hlo::ops
