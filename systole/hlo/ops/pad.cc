#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/window.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_pad(const InferContext& context) {
  const TensorType& operand = context.operand(0);
  const TensorType& value = context.operand(1);
  const auto& [low, high, interior] = context.get<PadAttrs>();
  const int rank = operand.shape.rank();
  check_scalar(context.opcode, "padding_value", value);                      // I2
  check_dtype(context.opcode, "padding_value", value.dtype, operand.dtype);  // C1
  check_count(context.opcode, "edge_padding_low", low.size(), rank);         // C2
  check_count(context.opcode, "edge_padding_high", high.size(), rank);
  check_count(context.opcode, "interior_padding", interior.size(), rank);
  check_at_least(context.opcode, "interior_padding", interior, 0);  // C3
  Dims dims;
  for (size_t d = 0; d < low.size(); ++d) {  // C4
    const int64_t size = operand.shape[static_cast<int>(d)];
    const Wide holes = Wide{std::max<int64_t>(size - 1, 0)} * interior[d];
    const Wide padded = Wide{size} + low[d] + holes + high[d];
    dims.push_back(check_dim(context.opcode, fmt::format("axis {} of result", d), padded));
  }
  return {{operand.dtype, Shape(std::move(dims))}};
}

std::vector<Tensor> evaluate_pad(const Instruction& instruction, std::span<const Tensor> operands,
                                 const Evaluator&) {
  const PadAttrs& attrs = instruction.attrs<PadAttrs>();
  return {hlo::pad(operands[0], operands[1], attrs.edge_padding_low, attrs.interior_padding,
                   instruction.shape())};
}

}  // namespace

extern const OpSemantics pad_semantics{
    .infer = infer_pad,
    .evaluate = evaluate_pad,
    .format = AssemblyFormat{"$*, low = <edge_padding_low>, high = <edge_padding_high>, interior = "
                             "<interior_padding>",
                             TypeForm::functional},
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>, %b: tensor<$T>",
            .results = "tensor<9x$T>",
            .body =
                R"(%r = "stablehlo.pad"(%a, %b) {edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: 1>} : (tensor<4x$T>, tensor<$T>) -> tensor<9x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::moves},
    .moves_elements = true,
    .vectorize = replicas::vectorize_pad,
    .shard = spmd::shard_pad};

}  // namespace systole::hlo::ops
