#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/reducer.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_reduce(const InferContext& context) {
  const std::vector<DType> dtypes = check_inputs_and_initial_values(context);  // C1, C2, C3
  const Dims& dimensions = context.get<DimensionsAttrs>().dimensions;
  const Shape& shape = context.operand(0).shape;
  check_axes(context.opcode, "dimensions", dimensions, shape.rank());  // C4
  check_unique(context.opcode, "dimensions", dimensions);              // C5
  Dims dims;                                                           // C7
  for (const int64_t axis : other_axes(shape.rank(), dimensions)) {
    dims.push_back(shape[static_cast<int>(axis)]);
  }
  std::vector<TensorType> results;
  for (const DType dtype : check_reducer(context, 0, dtypes)) {  // C6, C8
    const Value element = context.regions[0]->parameter(static_cast<int>(results.size()));
    results.push_back({dtype, Shape(dims), element.type().quantized});
  }
  return results;
}

std::vector<Tensor> evaluate_reduce(const Instruction& instruction,
                                    std::span<const Tensor> operands, const Evaluator& evaluator) {
  const size_t num_inputs = operands.size() / 2;
  const Shape& shape = operands[0].shape();
  const Dims result_strides = instruction.shape().strides();
  StridedView to{.offset = 0, .strides = Dims(shape.dims().size(), 0)};
  size_t next = 0;
  for (const int64_t axis :
       other_axes(shape.rank(), instruction.attrs<DimensionsAttrs>().dimensions)) {
    to.strides[axis] = result_strides[next++];
  }
  return reduce_strided(instruction, evaluator, operands.first(num_inputs),
                        operands.subspan(num_inputs), shape.dims(), view_of(shape), to,
                        Rounding::at_end);
}

}  // namespace

extern const OpSemantics reduce_semantics{
    .infer = infer_reduce,
    .evaluate = evaluate_reduce,
    .example = OpExample{.parameters = "%a: tensor<4x$T>, %b: tensor<$T>",
                         .results = "tensor<$T>",
                         .body = R"(%r = "stablehlo.reduce"(%a, %b) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.add"(%x, %y) : (tensor<$T>, tensor<$T>) -> tensor<$T>
  "stablehlo.return"(%z) : (tensor<$T>) -> ()
}) {dimensions = array<i64: 0>} : (tensor<4x$T>, tensor<$T>) -> tensor<$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::own},
    .vectorize = replicas::vectorize_reduce,
    .sum_over_replicas = replicas::sum_reduce,
    .shard = spmd::shard_reduce};

}  // namespace systole::hlo::ops
